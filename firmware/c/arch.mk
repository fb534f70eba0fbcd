# SPDX-License-Identifier: MIT OR Apache-2.0
#
# The cores that are no Cortex-M. For each its compiler, the flags of it, and what it starts
# with. Cortex-M is what nobody mentions here.

RISCV_CORES := rv32imac hazard3
IS_RISCV := $(filter $(RISCV_CORES),$(RTMARK_CORE))

# MTIME and MTIMECMP, where a core-local interruptor has them.
CLINT := -DRTMARK_MTIME=0x0200BFF8u -DRTMARK_MTIMECMP=0x02004000u
CORE_FLAGS_rv32imac := -march=rv32imac -misa-spec=2.2 -mabi=ilp32 -mcmodel=medany \
                       --specs=picolibc.specs -DRTMARK_CORE_HAS_FPU=0 $(CLINT)
# As RP2350 has it, as far as this compiler knows the extensions. Of libraries there are those for RV32IMAC,
# which it does not look for by itself: they are named.
ifeq ($(RTMARK_CORE),hazard3)
HASH := \#
RV32_GCC := riscv64-unknown-elf-gcc -march=rv32imac -misa-spec=2.2 -mabi=ilp32 --specs=picolibc.specs
RV32_FOLDERS := $(patsubst -L%,%,$(filter -L%,$(shell $(RV32_GCC) -$(HASH)$(HASH)$(HASH) -x c /dev/null 2>&1 | grep collect2)))
CORE_FLAGS_hazard3 := -march=rv32imac_zba_zbb_zbs_zbkb_zicsr_zifencei -mabi=ilp32 -mcmodel=medany \
                      --specs=picolibc.specs -DRTMARK_CORE_HAS_FPU=0 -include $(SHARED)/hazard3.h \
                      $(if $(shell grep RTMARK_MTIME $(RTMARK_GEN)/rtmark_soc.h),,$(CLINT))
LIBRARIES := -nodefaultlibs -Wl,--start-group $(firstword $(wildcard $(addsuffix /libc.a,$(RV32_FOLDERS)))) \
             $(shell $(RV32_GCC) -print-libgcc-file-name) -Wl,--end-group
endif
CORE_FLAGS_cortex-r5 := -mcpu=cortex-r5 -marm -mfloat-abi=soft -DRTMARK_CORE_HAS_FPU=0 -include $(SHARED)/cortex_r5.h
# Linux's compiler without Linux's libraries. Without MMU memory takes aligned accesses only,
# and the kernel does not keep the floating-point registers of tasks that have not asked for it.
CORE_FLAGS_cortex-a72 := -mcpu=cortex-a72 -mstrict-align -mgeneral-regs-only -mno-outline-atomics \
                         -ffreestanding -fno-pic -fno-pie -fno-stack-protector -nostdlib -static \
                         -I$(SHARED)/freestanding -DRTMARK_CORE_HAS_FPU=0

# This compiler has no C library, either, and no division. A literal stands beside the code that loads it.
CORE_FLAGS_lx106 := -mtext-section-literals -ffreestanding -nostdlib -I$(SHARED)/freestanding -DRTMARK_CORE_HAS_FPU=0

$(foreach core,$(RISCV_CORES),$(eval COMPILER_$(core) := riscv64-unknown-elf-))
COMPILER_cortex-a72 := aarch64-linux-gnu-
COMPILER_lx106 := xtensa-lx106-elf-
CROSS_COMPILE_DEFAULT := $(or $(COMPILER_$(RTMARK_CORE)),arm-none-eabi-)

$(foreach core,$(RISCV_CORES),$(eval STARTUP_$(core) := startup_rv32.c))
STARTUP_cortex-r5 := startup_r5.c
STARTUP_cortex-a72 := startup_a64.c freestanding/string.c
STARTUP_lx106 := startup_xtensa.c freestanding/string.c freestanding/division.c
STARTUP := $(or $(STARTUP_$(RTMARK_CORE)),startup.c)

THUMB := $(if $(filter cortex-m%,$(RTMARK_CORE)),-mthumb)
GENERAL_REGISTERS := $(if $(IS_RISCV)$(filter lx106,$(RTMARK_CORE)),,-mgeneral-regs-only)
