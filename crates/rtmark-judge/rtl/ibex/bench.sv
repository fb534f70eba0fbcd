// An Ibex in its configuration "small", with its registers beside it and its ports open.
//
// Ibex is not part of this project: scripts/rtl brings its sources and builds them with this file.
module bench (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic [31:0] boot_addr_i,

  output logic        instr_req_o,
  input  logic        instr_gnt_i,
  input  logic        instr_rvalid_i,
  output logic [31:0] instr_addr_o,
  input  logic [31:0] instr_rdata_i,
  input  logic        instr_err_i,

  output logic        data_req_o,
  input  logic        data_gnt_i,
  input  logic        data_rvalid_i,
  output logic        data_we_o,
  output logic [3:0]  data_be_o,
  output logic [31:0] data_addr_o,
  output logic [31:0] data_wdata_o,
  input  logic [31:0] data_rdata_i,
  input  logic        data_err_i,

  // Software, timer, external.
  input  logic [2:0]  irq_i,
  input  logic [14:0] irq_fast_i,

  // An instruction has retired, or has raised an exception, in the cycle before.
  output logic        rvfi_valid,
  output logic        rvfi_trap,
  output logic [31:0] rvfi_insn,
  output logic [31:0] rvfi_pc_rdata,
  output logic [4:0]  rvfi_rd_addr,
  output logic [31:0] rvfi_rd_wdata,
  // An interrupt is entered in this cycle.
  output logic        interrupted
);
  import ibex_pkg::*;

  logic        dummy_instr_id, dummy_instr_wb, rf_we;
  logic [4:0]  rf_raddr_a, rf_raddr_b, rf_waddr;
  logic [31:0] rf_wdata, rf_rdata_a, rf_rdata_b;

  ibex_core #(
    .RV32M          (RV32MFast),
    .RV32B          (RV32BNone),
    .BranchTargetALU(1'b0),
    .WritebackStage (1'b0),
    .ICache         (1'b0),
    .PMPEnable      (1'b0),
    .MHPMCounterNum (0),
    .DbgTriggerEn   (1'b0)
  ) core (
    .hart_id_i          (32'b0),
    .rf_raddr_a_o       (rf_raddr_a),
    .rf_raddr_b_o       (rf_raddr_b),
    .rf_waddr_wb_o      (rf_waddr),
    .rf_we_wb_o         (rf_we),
    .rf_wdata_wb_ecc_o  (rf_wdata),
    .rf_rdata_a_ecc_i   (rf_rdata_a),
    .rf_rdata_b_ecc_i   (rf_rdata_b),
    .dummy_instr_id_o   (dummy_instr_id),
    .dummy_instr_wb_o   (dummy_instr_wb),
    .ic_tag_rdata_i     ('{default: '0}),
    .ic_data_rdata_i    ('{default: '0}),
    .ic_scr_key_valid_i (1'b1),
    .irq_software_i     (irq_i[0]),
    .irq_timer_i        (irq_i[1]),
    .irq_external_i     (irq_i[2]),
    .irq_nm_i           (1'b0),
    .debug_req_i        (1'b0),
    .fetch_enable_i     (IbexMuBiOn),
    .clk_i,
    .rst_ni,
    .boot_addr_i,
    .instr_req_o,
    .instr_gnt_i,
    .instr_rvalid_i,
    .instr_addr_o,
    .instr_rdata_i,
    .instr_err_i,
    .data_req_o,
    .data_gnt_i,
    .data_rvalid_i,
    .data_we_o,
    .data_be_o,
    .data_addr_o,
    .data_wdata_o,
    .data_rdata_i,
    .data_err_i,
    .irq_fast_i,
    .rvfi_valid,
    .rvfi_trap,
    .rvfi_insn,
    .rvfi_pc_rdata,
    .rvfi_rd_addr,
    .rvfi_rd_wdata
  );

  ibex_register_file_ff registers (
    .test_en_i       (1'b0),
    .dummy_instr_id_i(dummy_instr_id),
    .dummy_instr_wb_i(dummy_instr_wb),
    .raddr_a_i       (rf_raddr_a),
    .rdata_a_o       (rf_rdata_a),
    .raddr_b_i       (rf_raddr_b),
    .rdata_b_o       (rf_rdata_b),
    .waddr_a_i       (rf_waddr),
    .wdata_a_i       (rf_wdata),
    .we_a_i          (rf_we),
    .err_o           (),
    .clk_i,
    .rst_ni
  );

  assign interrupted = core.csr_save_if & core.csr_save_cause;
endmodule
