# SPDX-License-Identifier: MIT OR Apache-2.0
#
# How a C kernel's images are built. A kernel's Makefile says what it consists of
# and includes this file last:
#
#   IMAGES      images to build, one ELF each, one source file <image>.c each
#   LOAD        the image of the mixed load, if there is one: only the goal `load` builds it
#   PLAN        the image of task sets, if there is one: only the goal `plan` builds it
#   SOURCES     sources linked into every image, of the Makefile's own folder or by their paths
#   INCLUDES    directories with headers
#   DEFINES     macros of the form NAME=value
#   LINK        further arguments of the linker
#   TOLD        settings that only this makefile knows, as words such as heap=heap_4
#   OPT         optimisation of everything, for instance -O2
#   LTO         1 for link-time optimisation of everything
#   OPT_<image> optimisation of that image's own source file, if it differs
#   APART       sources, without their .c, that are kept out of link-time optimisation: functions
#               in assembly language, of which a compiler does not see what registers they use
#   WITHOUT     sources, without their .c, that are not linked into images
#   WITHOUT_<image>  the same for one image, in place of WITHOUT
#   THIRD_PARTY directory of a source tree that is not ours
#   THIRD_PARTY_SOURCES  sources of that tree, linked into every image; they are
#                        compiled without warnings
#
# What varies from build to build arrives in these variables, from the command
# line or from the environment:
#
#   RTMARK_SOC      name of the soc
#   RTMARK_CORE     core to compile for
#   RTMARK_SET      settings that are to differ from the kernel's own, as words such
#                   as ASSERTS=0 and TICK_HZ=100: kernel.toml says which there are.
#                   OPT, LTO, COMPILER (gcc, clang) and CODE_IN (flash, ram) are heeded
#                   here; each other one becomes a macro RTMARK_SET_<word>
#   RTMARK_GEN      directory with memory.x and rtmark_soc.h of that soc
#   RTMARK_CLOCKED  1 for probes that read a counter (see rtmark_clock.h)
#   RTMARK_WITHOUT  images that are not built
#   RTMARK_LINKER   directory with what stands in for the linker, if anything does
#   RTMARK_OBJECT   what there is one more of in the image that the target `object` builds
#   RTMARK_OUT      directory for the ELFs; use one for each soc and choice of settings
#   RTMARK_HOST     directory for programs of this computer that a build runs, if any
#   CROSS_COMPILE   prefix of the tools (arm-none-eabi-)
#   CLANG           that compiler (clang), where settings ask for it
#   V=1             show the commands
#
# The same sources give the same ELF, byte by byte, in whatever directory.

SHARED := $(patsubst %/,%,$(dir $(abspath $(lastword $(MAKEFILE_LIST)))))
FIRMWARE := $(abspath $(SHARED)/..)

# ------------------------------------------------------------------- what to build for

REQUIRED := RTMARK_SOC RTMARK_CORE RTMARK_GEN RTMARK_OUT
MISSING := $(foreach name,$(REQUIRED),$(if $($(name)),,$(name)))
ifneq ($(strip $(MISSING)),)
$(error give $(strip $(MISSING)): either let `rtmark` build the firmware, or see firmware/c/README.md for building by hand)
endif

ABSENT := $(foreach file,memory.x rtmark_soc.h,$(if $(wildcard $(RTMARK_GEN)/$(file)),,$(file)))
ifneq ($(strip $(ABSENT)),)
$(error RTMARK_GEN names `$(RTMARK_GEN)`, which lacks $(strip $(ABSENT)); firmware/c/README.md shows what belongs there)
endif

# The value of a setting, empty where the kernel's own is to stay.
set = $(patsubst $(1)=%,%,$(filter $(1)=%,$(RTMARK_SET)))

ifneq ($(call set,OPT),)
override OPT := -O$(call set,OPT)
$(foreach image,$(IMAGES),$(eval override OPT_$(image) :=))
endif

COMPILER := $(or $(call set,COMPILER),gcc)
ifeq ($(filter gcc clang,$(COMPILER)),)
$(error compiler `$(COMPILER)` is unknown here; known are gcc and clang)
endif

override LTO := $(filter 1,$(or $(call set,LTO),$(LTO)))
ifeq ($(LTO) $(COMPILER),1 clang)
$(error no link-time optimisation by clang: what it makes for it, GCC's linker does not read)
endif

CODE_IN := $(or $(call set,CODE_IN),flash)
ifeq ($(filter flash ram,$(CODE_IN)),)
$(error code can be in flash or ram, not in `$(CODE_IN)`)
endif

CORE_FLAGS_cortex-m0 := -mcpu=cortex-m0 -mfloat-abi=soft -DRTMARK_CORE_HAS_FPU=0
CORE_FLAGS_cortex-m0plus := -mcpu=cortex-m0plus -mfloat-abi=soft -DRTMARK_CORE_HAS_FPU=0
CORE_FLAGS_cortex-m3 := -mcpu=cortex-m3 -mfloat-abi=soft -DRTMARK_CORE_HAS_FPU=0
CORE_FLAGS_cortex-m4 := -mcpu=cortex-m4+nofp -mfloat-abi=soft -DRTMARK_CORE_HAS_FPU=0
CORE_FLAGS_cortex-m4f := -mcpu=cortex-m4 -mfpu=fpv4-sp-d16 -mfloat-abi=hard -DRTMARK_CORE_HAS_FPU=1
CORE_FLAGS_cortex-m7 := -mcpu=cortex-m7 -mfpu=fpv5-d16 -mfloat-abi=hard -DRTMARK_CORE_HAS_FPU=1
CORE_FLAGS_cortex-m33 := -mcpu=cortex-m33 -mfpu=fpv5-sp-d16 -mfloat-abi=hard -DRTMARK_CORE_HAS_FPU=1

include $(SHARED)/arch.mk

# Without its unit, a core is compiled for as one that has none.
SOFT_FLOAT_cortex-m4f := -mcpu=cortex-m4+nofp -mfloat-abi=soft -DRTMARK_CORE_HAS_FPU=0
SOFT_FLOAT_cortex-m7 := -mcpu=cortex-m7+nofp -mfloat-abi=soft -DRTMARK_CORE_HAS_FPU=0
SOFT_FLOAT_cortex-m33 := -mcpu=cortex-m33+nofp -mfloat-abi=soft -DRTMARK_CORE_HAS_FPU=0

CORE_FLAGS := $(or $(if $(filter 0,$(call set,FPU)),$(SOFT_FLOAT_$(RTMARK_CORE))),$(CORE_FLAGS_$(RTMARK_CORE)))
ifeq ($(CORE_FLAGS),)
$(error core `$(RTMARK_CORE)` is unknown here; known are: $(patsubst CORE_FLAGS_%,%,$(filter CORE_FLAGS_%,$(.VARIABLES))))
endif

# ------------------------------------------------------------------------------- tools

CROSS_COMPILE ?= $(CROSS_COMPILE_DEFAULT)
GCC := $(CROSS_COMPILE)gcc
CC_VERSION := $(shell $(GCC) -dumpfullversion 2>/dev/null)
ifeq ($(CC_VERSION),)
$(error `$(GCC)` does not run; install it (`rtmark doctor` says how) or set CROSS_COMPILE)
endif

# Clang compiles; headers, libraries and the linker are GCC's.
CLANG ?= clang
ifeq ($(COMPILER),clang)
CC := $(CLANG)
CC_VERSION := $(shell $(CC) -dumpversion 2>/dev/null) $(CC_VERSION)
ifeq ($(words $(CC_VERSION)),1)
$(error `$(CC)` does not run; install it (Debian: apt install clang) or set CLANG)
endif
NEWLIB := $(dir $(shell $(GCC) -print-file-name=libc.a))../include
# Newlib was compiled with short enumerations, as GCC has them; and it says nothing of stacks,
# about which the linker wonders where other files do.
CC_FLAGS := --target=arm-none-eabi -isystem $(NEWLIB) -fshort-enums
CC_LDFLAGS := -Wl,-z,noexecstack
else
CC := $(GCC)
endif

Q := $(if $(filter 1,$(V)),,@)

# ------------------------------------------------------------------------------- flags

OUT := $(abspath $(RTMARK_OUT))
OBJ := $(OUT)/obj
GEN := $(OBJ)/gen

# Paths appear in debug information and in __FILE__; these make them relative. The compiler runs
# in $(FIRMWARE), so that all files are named from the same place, also those of a kernel that lies
# elsewhere. GCC believes PWD, which may reach that directory through a symbolic link.
PREFIX_MAP := -ffile-prefix-map=$(dir $(CURDIR))= -ffile-prefix-map=$(FIRMWARE)=. \
              -ffile-prefix-map=$(FIRMWARE)/= -ffile-prefix-map=$(OUT)=out \
              $(if $(THIRD_PARTY),-ffile-prefix-map=$(THIRD_PARTY)=third-party)
export PWD := $(FIRMWARE)

# Newlib as the compiler finds it, without specs.
MACHINE := $(THUMB) $(CORE_FLAGS)
CFLAGS := $(MACHINE) -std=gnu11 -g -ffunction-sections -fdata-sections \
          -Wall -Wextra -Wshadow -Wstrict-prototypes -Werror \
          $(if $(RTMARK_CLOCKED),-DRTMARK_CLOCKED=1) \
          $(addprefix -DRTMARK_SET_,$(filter-out OPT=% LTO=% COMPILER=% CODE_IN=%,$(RTMARK_SET))) \
          $(if $(filter ram,$(CODE_IN)),-DRTMARK_CODE_IN_RAM) \
          $(addprefix -D,$(DEFINES)) -I$(SHARED) -I$(GEN) $(addprefix -I,$(abspath $(INCLUDES)))
SCRIPT := $(SHARED)/firmware$(if $(filter ram,$(CODE_IN)),_ram).ld
LDFLAGS := $(MACHINE) -nostartfiles -Wl,--gc-sections -Wl,--build-id=none \
           -Wl,--fatal-warnings $(LINK) -L$(GEN) -T$(SCRIPT) \
           $(CC_LDFLAGS)

# Kernel and scenarios see each other; what starts them, reports and reads the clock stays apart,
# as a library would. In one piece, because the macros of probes are known in one file only; of what
# the compiler may warn, it has warned by then.
# Debug information of the objects is not in the assembly language that clocked probes go through.
LTO_FLAGS := $(if $(LTO),-flto -fno-fat-lto-objects $(if $(RTMARK_CLOCKED),-g0))
LTO_LINK := $(filter-out $(MACHINE),$(CFLAGS)) $(OPT) $(PREFIX_MAP) $(LTO_FLAGS) -flto-partition=none -w

# ------------------------------------------------------------------------------ objects

SHARED_SOURCES := $(addprefix $(SHARED)/,$(STARTUP) semihosting.c rtmark_firmware.c \
                    $(if $(RTMARK_CLOCKED),rtmark_clock.c))
COMMON_SOURCES := $(SHARED_SOURCES) $(SOURCES)

THIRD_PARTY_OBJ := $(OBJ)/third-party

# Objects lie in one folder, whatever folders their sources lie in.
twice = $(sort $(foreach name,$(1),$(if $(word 2,$(filter $(name),$(1))),$(name))))
TWICE := $(call twice,$(notdir $(basename $(sort $(COMMON_SOURCES) $(patsubst %,%.c,$(IMAGES) $(LOAD) $(PLAN)))))) \
         $(call twice,$(notdir $(basename $(sort $(THIRD_PARTY_SOURCES)))))
ifneq ($(strip $(TWICE)),)
$(error more than one source is named $(strip $(TWICE)): give them different names)
endif

COMMON_OBJECTS := $(addprefix $(OBJ)/,$(notdir $(COMMON_SOURCES:.c=.o))) \
                  $(addprefix $(THIRD_PARTY_OBJ)/,$(addsuffix .o,$(notdir $(basename $(THIRD_PARTY_SOURCES)))))
IMAGE_OBJECTS := $(patsubst %,$(OBJ)/%.o,$(IMAGES) $(LOAD) $(PLAN))
ELFS := $(patsubst %,$(OUT)/%.elf,$(filter-out $(RTMARK_WITHOUT),$(IMAGES)))

# The makefiles count as sources, and so does everything that a command depends on
# without its being a file: a change of any of it rebuilds all.
SETTINGS := $(CC) $(CC_VERSION) $(CC_FLAGS) $(CFLAGS) $(LTO_FLAGS) $(LDFLAGS) OPT=$(OPT) told:lto=$(if $(LTO),on,off) \
            $(foreach image,$(IMAGES),$(image)=$(OPT_$(image))) \
            $(addprefix told:,$(TOLD)) $(THIRD_PARTY_SOURCES) $(RTMARK_SOC)

# After the settings, because it changes nothing of what is made.
ifneq ($(RTMARK_LINKER),)
LDFLAGS += -B$(RTMARK_LINKER)/
export RTMARK_LD := $(shell $(GCC) -print-prog-name=ld)
endif

.DELETE_ON_ERROR:
.SUFFIXES:
.PHONY: all load plan object clean
.DEFAULT_GOAL := all

# Nothing to do is success without a word.
all: $(ELFS)
	@:

clean:
	$(Q)rm -rf $(OBJ) $(ELFS)

# Written only when the content changes, so that only then things are rebuilt; before anything is, as make
# running recipes in parallel takes a file whose recipe has run for changed. Whoever writes the generated files
# may write them afresh each time.
ifneq ($(MAKECMDGOALS),clean)
$(shell mkdir -p '$(GEN)' && \
    { printf '%s\n' '$(SETTINGS)' | cmp -s - '$(OBJ)/settings' || printf '%s\n' '$(SETTINGS)' > '$(OBJ)/settings'; } && \
    for file in memory.x rtmark_soc.h; do \
        cmp -s '$(RTMARK_GEN)'/$$file '$(GEN)'/$$file || cp '$(RTMARK_GEN)'/$$file '$(GEN)'/$$file; \
    done)
endif

NEEDED_BY_OBJECTS := $(OBJ)/settings $(GEN)/rtmark_soc.h $(MAKEFILE_LIST)

assemble = $(Q)cd $(FIRMWARE) && $(CC) $(CC_FLAGS) $(CFLAGS) $(PREFIX_MAP) -MMD -MP -c $(abspath $<) -o $@
to_object = cd $(FIRMWARE) && $(CC) $(CC_FLAGS) $(CFLAGS) $(or $(OPT_$*),$(OPT)) $(LTO_FLAGS) $(PER_FILE) $(PREFIX_MAP) -MMD -MP -c $(abspath $<) -o $@
to_assembly = cd $(FIRMWARE) && $(CC) $(CC_FLAGS) $(CFLAGS) $(or $(OPT_$*),$(OPT)) $(PER_FILE) $(PREFIX_MAP) -MMD -MP -MF $(@:.o=.d) -MT $@ \
              $(abspath $<) -S -o $@.s
# Probes at the entries of functions, in the compiler's assembly language, and an object of it.
probed = awk -f $(SHARED)/entry_probes.awk $(1) $(1) > $(2).probed.s && \
         $(CC) $(CC_FLAGS) $(MACHINE) -Wa,-I$(FIRMWARE)/probe/src -c $(2).probed.s -o $(2)
ifeq ($(RTMARK_CLOCKED),)
compile = $(Q)$(to_object)
else
# With link-time optimisation there is no such language before the link.
compile = $(Q)$(if $(and $(LTO_FLAGS),$(filter-out $(NO_LTO),$@)),$(to_object),$(to_assembly) && $(call probed,$@.s,$@))
$(OBJ)/rtmark_clock.o: PER_FILE := $(GENERAL_REGISTERS)
$(OBJ)/rtmark_clock.o: $(wildcard $(FIRMWARE)/probe/src/clock*.s)
endif

# Before the floating-point unit is on, nothing may use its registers; before code is in RAM,
# nothing there may be called, such as memcpy() for a loop that copies.
NO_CALLS_gcc := -fno-tree-loop-distribute-patterns
NO_CALLS_clang := -fno-builtin
$(addprefix $(OBJ)/,$(notdir $(STARTUP:.c=.o))): PER_FILE := \
                          $(if $(filter clang,$(COMPILER)),-mno-implicit-float,$(GENERAL_REGISTERS)) \
                          $(if $(filter ram,$(CODE_IN)),$(NO_CALLS_$(COMPILER)))

NO_LTO := $(addprefix $(OBJ)/,$(notdir $(SHARED_SOURCES:.c=.o)) $(APART:%=%.o) $(APART:%=third-party/%.o)) \
          $(patsubst %.S,$(THIRD_PARTY_OBJ)/%.o,$(notdir $(filter %.S,$(THIRD_PARTY_SOURCES))))
$(NO_LTO): LTO_FLAGS :=

load: $(LOAD:%=$(OUT)/%.elf)
	@:

plan: $(PLAN:%=$(OUT)/%.elf)
	@:

# Some of each object of the kernel's, and one more of RTMARK_OBJECT, to see what that takes.
object: $(OUT)/objects_$(RTMARK_OBJECT).elf

$(OBJ)/objects_%.o: PER_FILE = -DONE_MORE_$*
$(OBJ)/objects_%.o: objects.c $(NEEDED_BY_OBJECTS)
	$(compile)

$(OBJ)/%.o: %.c $(NEEDED_BY_OBJECTS)
	$(compile)

$(OBJ)/%.o: $(SHARED)/%.c $(NEEDED_BY_OBJECTS)
	$(compile)

$(OBJ)/%.o: $(SHARED)/freestanding/%.c $(NEEDED_BY_OBJECTS)
	$(compile)

# One rule for each, because they come from several directories.
define own_object
$(OBJ)/$(basename $(notdir $(1))).o: $(1) $(NEEDED_BY_OBJECTS)
	$$(compile)
endef
$(foreach source,$(SOURCES),$(if $(findstring /,$(source)),$(eval $(call own_object,$(source)))))

define third_party_object
$(THIRD_PARTY_OBJ)/$(basename $(notdir $(1))).o: PER_FILE := -w
$(THIRD_PARTY_OBJ)/$(basename $(notdir $(1))).o: $(1) $(NEEDED_BY_OBJECTS)
	@mkdir -p $$(@D)
	$$($(if $(filter %.S,$(1)),assemble,compile))
endef
$(foreach source,$(THIRD_PARTY_SOURCES),$(eval $(call third_party_object,$(source))))

# The objects of an image.
parts = $(filter-out $(patsubst %,$(OBJ)/%.o,$(or $(WITHOUT_$*),$(WITHOUT))),$(filter %.o,$^))
link = cd $(FIRMWARE) && $(GCC) $(LDFLAGS)
ifeq ($(LTO),)
link_image = $(Q)$(link) $(parts) $(LIBRARIES) -o $@
else ifeq ($(RTMARK_CLOCKED),)
link_image = $(Q)$(link) $(LTO_LINK) $(parts) $(LIBRARIES) -o $@
else
# The first link is for the assembly language that it goes through; the second one is of the object
# made of that, with probes, in place of those that it was made of.
TEMPORARY = $(OBJ)/$*.unprobed
link_image = $(Q)rm -f $(TEMPORARY)*; $(link) $(LTO_LINK) -save-temps $(parts) $(LIBRARIES) -o $(TEMPORARY) && \
             mv $(TEMPORARY)*.s $(OBJ)/$*.whole.s && rm -f $(TEMPORARY)* && \
             $(call probed,$(OBJ)/$*.whole.s,$(OBJ)/$*.whole.o) && \
             $(link) $(OBJ)/$*.whole.o $(filter $(NO_LTO),$(parts)) $(LIBRARIES) -o $@
endif
$(OUT)/%.elf: $(OBJ)/%.o $(COMMON_OBJECTS) $(GEN)/memory.x $(SCRIPT)
	$(link_image)

.SECONDARY: $(OBJ)/objects_$(RTMARK_OBJECT).o $(IMAGE_OBJECTS) $(COMMON_OBJECTS) $(GEN)/memory.x $(GEN)/rtmark_soc.h

# A source tree that has gone since the last build stops nothing: what was made of it is made anew.
/%.c: ;

-include $(wildcard $(OBJ)/*.d $(THIRD_PARTY_OBJ)/*.d)
