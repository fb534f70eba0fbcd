# SPDX-License-Identifier: MIT OR Apache-2.0
#
# The cores that are no Cortex-M: they run on QEMU only. For each its compiler, the flags
# of it, and what it starts with. Cortex-M is what nobody mentions here.

CORE_FLAGS_rv32imac := -march=rv32imac -misa-spec=2.2 -mabi=ilp32 -mcmodel=medany \
                       --specs=picolibc.specs -DRTMARK_CORE_HAS_FPU=0
CORE_FLAGS_cortex-r5 := -mcpu=cortex-r5 -marm -mfloat-abi=soft -DRTMARK_CORE_HAS_FPU=0
# Linux's compiler without Linux's libraries. Without MMU memory takes aligned accesses only,
# and the kernel does not keep the floating-point registers of tasks that have not asked for it.
CORE_FLAGS_cortex-a72 := -mcpu=cortex-a72 -mstrict-align -mgeneral-regs-only -mno-outline-atomics \
                         -ffreestanding -fno-pic -fno-pie -fno-stack-protector -nostdlib -static \
                         -I$(SHARED)/freestanding -DRTMARK_CORE_HAS_FPU=0

COMPILER_rv32imac := riscv64-unknown-elf-
COMPILER_cortex-a72 := aarch64-linux-gnu-
CROSS_COMPILE_DEFAULT := $(or $(COMPILER_$(RTMARK_CORE)),arm-none-eabi-)

STARTUP_rv32imac := startup_rv32.c
STARTUP_cortex-r5 := startup_r5.c
STARTUP_cortex-a72 := startup_a64.c freestanding/string.c
STARTUP := $(or $(STARTUP_$(RTMARK_CORE)),startup.c)

THUMB := $(if $(filter cortex-m%,$(RTMARK_CORE)),-mthumb)
GENERAL_REGISTERS := $(if $(filter rv32%,$(RTMARK_CORE)),,-mgeneral-regs-only)
