# SPDX-License-Identifier: MIT OR Apache-2.0
#
# How a C kernel's images are built. A kernel's Makefile says what it consists of
# and includes this file last:
#
#   IMAGES      images to build, one ELF each, one source file <image>.c each
#   SOURCES     sources linked into every image
#   INCLUDES    directories with headers
#   DEFINES     macros of the form NAME=value
#   LINK        further arguments of the linker
#   OPT         optimisation of everything, for instance -O2
#   OPT_<image> optimisation of that image's own source file, if it differs
#   WITHOUT_<image>  sources, without their .c, that are not linked into that image
#   THIRD_PARTY directory of a source tree that is not ours
#   THIRD_PARTY_SOURCES  sources of that tree, linked into every image; they are
#                        compiled without warnings
#
# What varies from build to build arrives in these variables, from the command
# line or from the environment:
#
#   RTMARK_SOC      name of the soc
#   RTMARK_CORE     core to compile for
#   RTMARK_PROFILE  named set of build settings
#   RTMARK_GEN      directory with memory.x and rtmark_soc.h of that soc
#   RTMARK_CLOCKED  1 for probes that read a counter (see rtmark_clock.h)
#   RTMARK_WITHOUT  images that are not built
#   RTMARK_OUT      directory for the ELFs; use one for each soc and profile
#   CROSS_COMPILE   prefix of the tools (arm-none-eabi-)
#   V=1             show the commands
#
# The same sources give the same ELF, byte by byte, in whatever directory.

SHARED := $(patsubst %/,%,$(dir $(lastword $(MAKEFILE_LIST))))
FIRMWARE := $(abspath $(SHARED)/..)

# ------------------------------------------------------------------- what to build for

RTMARK_PROFILE ?= default
REQUIRED := RTMARK_SOC RTMARK_CORE RTMARK_GEN RTMARK_OUT
MISSING := $(foreach name,$(REQUIRED),$(if $($(name)),,$(name)))
ifneq ($(strip $(MISSING)),)
$(error give $(strip $(MISSING)): either let `rtmark` build the firmware, or see firmware/c/README.md for building by hand)
endif

ABSENT := $(foreach file,memory.x rtmark_soc.h,$(if $(wildcard $(RTMARK_GEN)/$(file)),,$(file)))
ifneq ($(strip $(ABSENT)),)
$(error RTMARK_GEN names `$(RTMARK_GEN)`, which lacks $(strip $(ABSENT)); firmware/c/README.md shows what belongs there)
endif

PROFILES ?= default
ifeq ($(filter $(RTMARK_PROFILE),$(PROFILES)),)
$(error profile `$(RTMARK_PROFILE)` is unknown here; this kernel has: $(PROFILES))
endif

CORE_FLAGS_cortex-m0plus := -mcpu=cortex-m0plus -mfloat-abi=soft -DRTMARK_CORE_HAS_FPU=0
CORE_FLAGS_cortex-m3 := -mcpu=cortex-m3 -mfloat-abi=soft -DRTMARK_CORE_HAS_FPU=0
CORE_FLAGS_cortex-m4f := -mcpu=cortex-m4 -mfpu=fpv4-sp-d16 -mfloat-abi=hard -DRTMARK_CORE_HAS_FPU=1
CORE_FLAGS_cortex-m33 := -mcpu=cortex-m33 -mfpu=fpv5-sp-d16 -mfloat-abi=hard -DRTMARK_CORE_HAS_FPU=1

include $(SHARED)/arch.mk

CORE_FLAGS := $(CORE_FLAGS_$(RTMARK_CORE))
ifeq ($(CORE_FLAGS),)
$(error core `$(RTMARK_CORE)` is unknown here; known are: $(patsubst CORE_FLAGS_%,%,$(filter CORE_FLAGS_%,$(.VARIABLES))))
endif

# ------------------------------------------------------------------------------- tools

CROSS_COMPILE ?= $(CROSS_COMPILE_DEFAULT)
CC := $(CROSS_COMPILE)gcc
CC_VERSION := $(shell $(CC) -dumpfullversion 2>/dev/null)
ifeq ($(CC_VERSION),)
$(error `$(CC)` does not run; install it (`rtmark doctor` says how) or set CROSS_COMPILE)
endif

Q := $(if $(filter 1,$(V)),,@)

# ------------------------------------------------------------------------------- flags

OUT := $(abspath $(RTMARK_OUT))
OBJ := $(OUT)/obj
GEN := $(OBJ)/gen

# Paths appear in debug information and in __FILE__; these make them relative.
# GCC believes PWD, which may reach this directory through a symbolic link.
PREFIX_MAP := -ffile-prefix-map=$(FIRMWARE)=. -ffile-prefix-map=$(OUT)=out \
              $(if $(THIRD_PARTY),-ffile-prefix-map=$(THIRD_PARTY)=third-party)
export PWD := $(CURDIR)

# Newlib as the compiler finds it, without specs.
MACHINE := $(THUMB) $(CORE_FLAGS)
CFLAGS := $(MACHINE) -std=gnu11 -g -ffunction-sections -fdata-sections \
          -Wall -Wextra -Wshadow -Wstrict-prototypes -Werror \
          $(if $(RTMARK_CLOCKED),-DRTMARK_CLOCKED=1) \
          $(addprefix -D,$(DEFINES)) -I$(SHARED) -I$(GEN) $(addprefix -I,$(INCLUDES))
LDFLAGS := $(MACHINE) -nostartfiles -Wl,--gc-sections -Wl,--build-id=none \
           -Wl,--fatal-warnings $(LINK) -L$(GEN) -T$(SHARED)/firmware.ld

# ------------------------------------------------------------------------------ objects

SHARED_SOURCES := $(addprefix $(SHARED)/,$(STARTUP) semihosting.c rtmark_firmware.c \
                    $(if $(RTMARK_CLOCKED),rtmark_clock.c))
IMAGES := $(filter-out $(RTMARK_WITHOUT),$(IMAGES))
COMMON_SOURCES := $(SHARED_SOURCES) $(SOURCES)

THIRD_PARTY_OBJ := $(OBJ)/third-party

COMMON_OBJECTS := $(addprefix $(OBJ)/,$(notdir $(COMMON_SOURCES:.c=.o))) \
                  $(addprefix $(THIRD_PARTY_OBJ)/,$(addsuffix .o,$(notdir $(basename $(THIRD_PARTY_SOURCES)))))
IMAGE_OBJECTS := $(IMAGES:%=$(OBJ)/%.o)
ELFS := $(IMAGES:%=$(OUT)/%.elf)

# The makefiles count as sources, and so does everything that a command depends on
# without its being a file: a change of any of it rebuilds all.
SETTINGS := $(CC) $(CC_VERSION) $(CFLAGS) $(LDFLAGS) OPT=$(OPT) \
            $(foreach image,$(IMAGES),$(image)=$(OPT_$(image))) \
            $(THIRD_PARTY_SOURCES) $(RTMARK_SOC) $(RTMARK_PROFILE)

.DELETE_ON_ERROR:
.SUFFIXES:
.PHONY: all clean FORCE
.DEFAULT_GOAL := all

# Nothing to do is success without a word.
all: $(ELFS)
	@:

clean:
	$(Q)rm -rf $(OBJ) $(ELFS)

# Written only when the content changes, so that only then things are rebuilt.
$(OBJ)/settings: FORCE
	@mkdir -p $(@D)
	@printf '%s\n' '$(SETTINGS)' | cmp -s - $@ || printf '%s\n' '$(SETTINGS)' > $@

# Whoever writes the generated files may write them afresh each time.
$(GEN)/%: $(RTMARK_GEN)/% FORCE
	@mkdir -p $(@D)
	@cmp -s $< $@ || cp $< $@

NEEDED_BY_OBJECTS := $(OBJ)/settings $(GEN)/rtmark_soc.h $(MAKEFILE_LIST)

assemble = $(Q)$(CC) $(CFLAGS) $(PREFIX_MAP) -MMD -MP -c $(abspath $<) -o $@
to_assembly = $(CC) $(CFLAGS) $(or $(OPT_$*),$(OPT)) $(PER_FILE) $(PREFIX_MAP) -MMD -MP -MF $(@:.o=.d) -MT $@ \
              $(abspath $<) -S -o $@.s
ifeq ($(RTMARK_CLOCKED),)
compile = $(Q)$(CC) $(CFLAGS) $(or $(OPT_$*),$(OPT)) $(PER_FILE) $(PREFIX_MAP) -MMD -MP -c $(abspath $<) -o $@
else
# By way of assembly language, where probes come to the entries of functions.
compile = $(Q)$(to_assembly) && awk -f $(SHARED)/entry_probes.awk $@.s $@.s > $@.probed.s && \
          $(CC) $(MACHINE) -c $@.probed.s -o $@
$(OBJ)/rtmark_clock.o: PER_FILE := $(GENERAL_REGISTERS)
endif

$(addprefix $(OBJ)/,$(notdir $(STARTUP:.c=.o))): PER_FILE := $(GENERAL_REGISTERS)

$(OBJ)/%.o: %.c $(NEEDED_BY_OBJECTS)
	$(compile)

$(OBJ)/%.o: $(SHARED)/%.c $(NEEDED_BY_OBJECTS)
	$(compile)

$(OBJ)/%.o: $(SHARED)/freestanding/%.c $(NEEDED_BY_OBJECTS)
	$(compile)

# One rule for each, because they come from several directories of their tree.
define third_party_object
$(THIRD_PARTY_OBJ)/$(basename $(notdir $(1))).o: PER_FILE := -w
$(THIRD_PARTY_OBJ)/$(basename $(notdir $(1))).o: $(1) $(NEEDED_BY_OBJECTS)
	@mkdir -p $$(@D)
	$$($(if $(filter %.S,$(1)),assemble,compile))
endef
$(foreach source,$(THIRD_PARTY_SOURCES),$(eval $(call third_party_object,$(source))))

$(OUT)/%.elf: $(OBJ)/%.o $(COMMON_OBJECTS) $(GEN)/memory.x $(SHARED)/firmware.ld
	$(Q)$(CC) $(LDFLAGS) $(filter-out $(WITHOUT_$*:%=$(OBJ)/%.o),$(filter %.o,$^)) -o $@

.SECONDARY: $(IMAGE_OBJECTS) $(COMMON_OBJECTS) $(GEN)/memory.x $(GEN)/rtmark_soc.h

-include $(wildcard $(OBJ)/*.d $(THIRD_PARTY_OBJ)/*.d)
