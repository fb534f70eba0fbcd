// Runs programs on the RTL of a core and tells each instruction's cycle, for `rtmark-judge rtl`.
//
// Reads jobs from standard input, and answers each on standard output. Numbers are hexadecimal.
//
//   boot ADDRESS                 what the core takes its reset vector from
//   memory ADDRESS SIZE          a memory, zeros at first
//   image ADDRESS BYTES...       what it holds: two digits a byte, without spaces
//   waits INSTRUCTION DATA       wait states of the two ports
//   line CYCLE BITS              interrupt lines from a cycle on: software, timer, external, fast 0...
//   run END CYCLES               until a word is stored at an address; CYCLES is the most
//
// Answers:
//
//   i CYCLE PC BITS TRAP RD VALUE     an instruction is over: in its last cycle, counted from reset
//   w CYCLE ADDRESS BYTES VALUE       the data port takes a store
//   t CYCLE                           the jump to an interrupt's handler is made
//   end CYCLE | late | broken WHY

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "Vbench.h"
#include "verilated.h"

namespace {

struct Memory {
  uint32_t base;
  std::vector<uint8_t> bytes;
};

struct Job {
  uint32_t boot = 0;
  std::vector<Memory> memories;
  unsigned instruction_waits = 0, data_waits = 0;
  std::vector<std::pair<uint64_t, uint32_t>> lines;

  uint8_t* at(uint32_t address) {
    for (Memory& memory : memories) {
      uint32_t offset = address - memory.base;
      if (offset < memory.bytes.size()) return &memory.bytes[offset];
    }
    return nullptr;
  }
};

// A port whose memory makes one transfer at a time: the address of the next is taken in the cycle in
// which a transfer ends, and each takes a cycle and its wait states.
struct Port {
  bool busy = false;
  unsigned left = 0;
  uint32_t address = 0;
  bool fails = false;

  bool ends() const { return busy && left == 0; }
  bool ready() const { return !busy || left == 0; }

  void next(bool granted, uint32_t to, unsigned waits, bool failing) {
    if (!ready()) {
      --left;
    } else {
      busy = granted;
      left = granted ? waits : 0;
      if (granted) {
        address = to;
        fails = failing;
      }
    }
  }
};

uint32_t word(Job& job, uint32_t address) {
  uint32_t value = 0;
  for (unsigned byte = 0; byte < 4; ++byte) {
    if (const uint8_t* place = job.at((address & ~3u) + byte)) value |= uint32_t(*place) << (8 * byte);
  }
  return value;
}

void run(Job& job, uint32_t end, uint64_t most) {
  VerilatedContext context;
  auto top = std::make_unique<Vbench>(&context);
  Port instructions, data;
  top->boot_addr_i = job.boot;
  top->rst_ni = 0;
  top->clk_i = 0;
  top->eval();
  for (int edge = 0; edge < 4; ++edge) {
    top->clk_i ^= 1;
    top->eval();
  }
  top->rst_ni = 1;
  size_t line = 0;
  for (uint64_t cycle = 0; cycle < most; ++cycle) {
    while (line < job.lines.size() && job.lines[line].first <= cycle) {
      uint32_t bits = job.lines[line++].second;
      top->irq_i = bits & 7;
      top->irq_fast_i = bits >> 3;
    }
    top->instr_rvalid_i = instructions.ends();
    top->instr_err_i = instructions.ends() && instructions.fails;
    top->instr_rdata_i = instructions.ends() ? word(job, instructions.address) : 0;
    top->data_rvalid_i = data.ends();
    top->data_err_i = data.ends() && data.fails;
    top->data_rdata_i = data.ends() ? word(job, data.address) : 0;
    top->eval();
    top->instr_gnt_i = top->instr_req_o && instructions.ready();
    top->data_gnt_i = top->data_req_o && data.ready();
    top->eval();
    if (top->rvfi_valid) {
      std::printf("i %llx %x %x %x %x %x\n", (unsigned long long)(cycle - 1), top->rvfi_pc_rdata,
                  top->rvfi_insn, top->rvfi_trap, top->rvfi_rd_addr, top->rvfi_rd_wdata);
    }
    if (top->interrupted) std::printf("t %llx\n", (unsigned long long)cycle);
    uint32_t address = top->data_addr_o;
    bool over = false;
    if (top->data_gnt_i && top->data_we_o) {
      std::printf("w %llx %x %x %x\n", (unsigned long long)cycle, address, top->data_be_o,
                  top->data_wdata_o);
      for (unsigned byte = 0; byte < 4; ++byte) {
        uint8_t* place = job.at(address + byte);
        if (place && (top->data_be_o >> byte & 1)) *place = uint8_t(top->data_wdata_o >> (8 * byte));
      }
      over = address == end;
    }
    instructions.next(top->instr_gnt_i, top->instr_addr_o, job.instruction_waits,
                      !job.at(top->instr_addr_o));
    data.next(top->data_gnt_i, address, job.data_waits, !job.at(address));
    if (over) {
      std::printf("end %llx\n", (unsigned long long)cycle);
      return;
    }
    top->clk_i = 1;
    top->eval();
    top->clk_i = 0;
    top->eval();
  }
  std::printf("late\n");
}

bool fill(Job& job, uint32_t address, const std::string& digits) {
  for (size_t at = 0; at + 1 < digits.size(); at += 2) {
    uint8_t* place = job.at(address++);
    if (!place) return false;
    *place = uint8_t(std::stoul(digits.substr(at, 2), nullptr, 16));
  }
  return true;
}

}  // namespace

int main() {
  Job job;
  std::string text;
  while (std::getline(std::cin, text)) {
    std::istringstream words(text);
    std::string what;
    uint64_t first = 0, second = 0;
    words >> what >> std::hex >> first;
    if (what == "boot") {
      job = Job{};
      job.boot = uint32_t(first);
    } else if (what == "image") {
      std::string digits;
      words >> digits;
      if (!fill(job, uint32_t(first), digits)) std::printf("broken image\n");
    } else if (!(words >> second)) {
      std::printf("broken %s\n", what.c_str());
    } else if (what == "memory") {
      job.memories.push_back({uint32_t(first), std::vector<uint8_t>(second)});
    } else if (what == "waits") {
      job.instruction_waits = unsigned(first);
      job.data_waits = unsigned(second);
    } else if (what == "line") {
      job.lines.emplace_back(first, uint32_t(second));
    } else if (what == "run") {
      run(job, uint32_t(first), second);
      std::fflush(stdout);
    } else {
      std::printf("broken %s\n", what.c_str());
    }
  }
}
