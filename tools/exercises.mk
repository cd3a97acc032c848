# The exercises: exerciseK is exercises/0K_NAME.cu or .c. The Makefile includes
# this; tools/exercise.sh does the work.

TASK_FILES := $(notdir $(wildcard $(foreach d,exercises solutions, \
                $d/[0-9][0-9]_*.cu $d/[0-9][0-9]_*.c)))
TASKS := $(patsubst 0%,%,$(sort $(foreach f,$(TASK_FILES), \
           $(firstword $(subst _, ,$f)))))

.PHONY: progress exercise watch $(TASKS:%=exercise%) $(TASKS:%=watch%) $(TASKS:%=hint%) \
    $(TASKS:%=diff%) $(TASKS:%=solution%) $(TASKS:%=reset%)

## exercise     build the next exercise of yours and check it
## watch        the same again at every save, and go on when it is done
## exerciseK    exercise K, for any K
## watchK       the same again at every save of it
## hintK        show one more hint
## diffK        compare yours with the solution
## solutionK    show the solution, and why it is so
## resetK       put exercise K back; yours is kept in build/kept/
## progress     show which exercises are done, and what is next

# BUILD_CU, for those that have kernels, is the backend's.
BUILD_C = $(CC) $(CPU_FLAGS) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) -o "$$program" "$$source" -lm
export BUILD BUILD_CU BUILD_C BUILD_RACE TASKS

exercise watch $(TASKS:%=exercise%) $(TASKS:%=watch%): $(RUNTIME) | backend $(call on_gpu,known-arch) writable
progress exercise watch $(foreach v,exercise watch hint diff solution reset,$(TASKS:%=$v%)):
	@sh tools/exercise.sh $@

exercise% watch% hint% diff% solution% reset%:
	@echo "make $@: there is no exercise $*; the exercises are \
	$(firstword $(TASKS)) to $(lastword $(TASKS))" >&2; exit 2
