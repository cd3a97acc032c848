# The exercises: exerciseK is exercises/0K_NAME.cu or .c. The Makefile includes
# this; tools/exercise.sh does the work.

TASK_FILES := $(notdir $(wildcard $(foreach d,exercises solutions, \
                $d/[0-9][0-9]_*.cu $d/[0-9][0-9]_*.c)))
TASKS := $(patsubst 0%,%,$(sort $(foreach f,$(TASK_FILES), \
           $(firstword $(subst _, ,$f)))))

.PHONY: progress $(TASKS:%=exercise%) $(TASKS:%=watch%) $(TASKS:%=hint%) \
    $(TASKS:%=diff%) $(TASKS:%=solution%) $(TASKS:%=reset%)

## exerciseK    build your exercises/0K_NAME and check it
## watchK       the same again at every save
## hintK        show one more hint
## diffK        compare yours with the solution
## solutionK    show the solution, and why it is so
## resetK       put exercise K back; yours is kept in build/kept/
## progress     show which exercises are done, and what is next

# BUILD_CU, for those that have kernels, is the backend's.
BUILD_C = $(CC) $(CPU_FLAGS) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) -o "$$program" "$$source" -lm
export BUILD BUILD_CU BUILD_C BUILD_RACE TASKS

$(TASKS:%=exercise%) $(TASKS:%=watch%): $(RUNTIME) | backend $(call on_gpu,known-arch) writable
progress $(foreach v,exercise watch hint diff solution reset,$(TASKS:%=$v%)):
	@sh tools/exercise.sh $@

exercise% watch% hint% diff% solution% reset%:
	@echo "make $@: there is no exercise $*; the exercises are \
	$(firstword $(TASKS)) to $(lastword $(TASKS))" >&2; exit 2
