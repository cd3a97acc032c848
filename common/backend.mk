# The backend, and the compilers with their flags: which are here, and which are
# too old. The Makefile includes this.

q = '$(subst ','\'',$(1))'
# NVCC= on the command line hides the nvcc that is here.
ASKED := $(NVCC)
override NVCC := $(if $(findstring command$(ASKED),$(word 1,$(origin NVCC))),,$(shell NVCC=$(call q,$(NVCC)) \
    CUDA_HOME=$(call q,$(CUDA_HOME)) CUDA_PATH=$(call q,$(CUDA_PATH)) sh tools/nvcc.sh))
GPU := $(firstword $(wildcard /dev/nvidia0 /proc/driver/nvidia/version \
         /usr/lib/wsl/lib/libcuda.so.1))

ifeq ($(BACKEND),auto)
  ifeq ($(NVCC),)
    WHY := there is no $(or $(ASKED),nvcc) here
  else ifeq ($(GPU),)
    WHY := there is no NVIDIA GPU here
  else
    WHY := nvcc and an NVIDIA GPU are here
  endif
  override BACKEND := $(if $(and $(NVCC),$(GPU)),cuda,cpu)
else
  WHY := as asked
endif
ifneq ($(BACKEND),$(filter cuda cpu musa,$(firstword $(BACKEND))))
  $(error BACKEND=$(BACKEND): choose auto, cuda, cpu or musa)
endif
ifeq ($(BACKEND)$(NVCC),cuda)
  $(error BACKEND=cuda: $(or $(ASKED),nvcc) was not found; install the CUDA Toolkit, set NVCC or CUDA_HOME, or use BACKEND=cpu)
endif

CPU_FLAGS := -std=gnu11 -Wall -Wextra -pthread -ffp-contract=off \
    -fno-strict-aliasing -fsanitize=alignment \
    -fsanitize-undefined-trap-on-error -Werror=implicit-function-declaration \
    -Werror=incompatible-pointer-types -Werror=int-conversion \
    -Wno-unknown-pragmas -DCUDA_ON_CPU -Icommon/cpu -Icommon -Iinclude
# F16C where this machine has it; on another kind a program runs only by chance.
# What the compiler says of itself, as "gcc 12 -mf16c"; nothing if it does not run.
CC_IS := $(strip $(shell { $(CC) -march=native -dM -E -x c /dev/null || $(CC) -dM -E -x c /dev/null; } 2>/dev/null | \
    awk '/ __GNUC__ /{g="gcc " $$3} / __clang_major__ /{c="clang " $$3} / __F16C__ /{f="-mf16c"} END{print c ? c : g, f}'))
CPU_FLAGS += $(filter -mf16c,$(CC_IS))

# In the environment ARCH may be of another tool, and no GPU: x86_64.
ifneq ($(filter environment,$(origin ARCH)),)
  override ARCH := $(filter sm_% native all all-major,$(ARCH))
endif
# nvcc takes some flags of a C compiler, and hands on others.
comma := ,
to_nvcc = $(foreach w,$(1),$(if $(filter -D% -U% -I% -i% -L% -l%,$w)$(filter-out -%,$w),$w, \
    -Xcompiler '$(subst $(comma),\$(comma),$w)'))

# Adds of half by compare-and-swap, on every backend: common/cas_atomics.h.
ifneq ($(MUSA_ATOMICS),$(filter cas,$(firstword $(MUSA_ATOMICS))))
  $(error MUSA_ATOMICS=$(MUSA_ATOMICS): say cas, or leave it out)
endif
CAS := $(if $(MUSA_ATOMICS),-DCAS_ATOMICS)
CAS_FIRST := $(if $(MUSA_ATOMICS),-include common/cas_atomics.h)
CPU_FLAGS += $(CAS)

ifeq ($(BACKEND),musa)
  MCC := $(shell MUSA_HOME=$(call q,$(MUSA_HOME)) sh tools/mcc.sh)
  ifeq ($(MCC),)
    $(error BACKEND=musa: mcc was not found in PATH, MUSA_HOME or /usr/local/musa; install the MUSA SDK, or use BACKEND=cpu)
  endif
  override MUSA_ARCH := $(or $(MUSA_ARCH),$(shell sh tools/mcc.sh arch))
  ifneq ($(MUSA_ARCH),$(filter mp_21 mp_22 mp_31,$(firstword $(MUSA_ARCH))))
    $(error MUSA_ARCH=$(MUSA_ARCH): choose mp_21, mp_22 or mp_31)
  else ifeq ($(MUSA_ARCH),)
    $(error BACKEND=musa: which GPU? say MUSA_ARCH=mp_21 (MTT S80, S3000), mp_22 (S4000) or mp_31 (S5000))
  endif
  COMPILE := $(MCC) -x musa --offload-arch=$(MUSA_ARCH) -DMUSA_ARCH=$(MUSA_ARCH:mp_%=%0) -std=c++17 -O3 \
      -ffp-contract=off -Icommon/musa -Icommon -Iinclude $(CAS) $(CPPFLAGS)
  MUSA_LIBS := -L$(subst /bin/mcc',/lib',$(MCC)) -lmusart $(LDFLAGS)
else ifeq ($(BACKEND),cuda)
  override ARCH := $(or $(ARCH),$(if $(GPU),native,all-major))
  COMPILE := $(NVCC) -arch=$(ARCH) $(NVCCFLAGS) -Icommon -Iinclude $(CAS) $(CAS_FIRST) $(call to_nvcc,$(CPPFLAGS) $(LDFLAGS))
else
  COMPILE := $(CC) $(CPU_FLAGS) $(CPPFLAGS) $(CFLAGS)
endif

# The oldest compilers with which all lessons were run.
known-cc:
	@$(if $(CC_IS),,echo $(call q,CC=$(CC) runs no C compiler: ./setup installs one; or name another: make CC=gcc) >&2; exit 2)
	@$(if $(filter 1 2 3 4 5 6 7 8,$(CC_IS)),echo $(call q,CC=$(CC) is $(filter-out -%,$(CC_IS)); the course was tried with gcc 9$(comma) clang 9 and later) >&2)

# Names that nvcc takes for ARCH, checked before it is asked to compile.
known-arch:
	@case '$(ARCH)' in native|all|all-major|'') exit 0;; esac; \
	known=$$($(or $(NVCC),exit 0;) --list-gpu-code | tr '\n' ' '); \
	[ -n "$$known" ] || exit 0; \
	case " $$known " in *' $(ARCH) '*) ;; *) \
	    echo "ARCH=$(ARCH): this toolkit knows $$known" >&2; exit 2;; esac
