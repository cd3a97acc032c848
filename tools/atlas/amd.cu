/* The atomics of the atlas on AMD's GPUs: kernels as in nvidia.cu, for clang
 * -x hip without AMD's headers. Adds to pairs are here where clang has a
 * function for them; tools/atlas.sh writes them in LLVM's language for all. */
typedef _Float16 half;
typedef __bf16 bf16;
typedef half half2 __attribute__((ext_vector_type(2)));
typedef short bf162 __attribute__((ext_vector_type(2)));
typedef unsigned short ushort;

#define DEVICE static __attribute__((device))
#define LANE __builtin_amdgcn_workitem_id_x()
#define BARRIER __builtin_amdgcn_s_barrier()
#define ON_THE_GPU __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT

#define OPERATION(op)                                                        \
    template <class T> DEVICE T try_##op(T *p, T, T v)                       \
    {                                                                        \
        return __hip_atomic_fetch_##op(p, v, ON_THE_GPU);                    \
    }
OPERATION(add)
OPERATION(max)
OPERATION(min)

template <class T> DEVICE T try_cas(T *p, T c, T v)
{
    __hip_atomic_compare_exchange_strong(p, &c, v, __ATOMIC_RELAXED,
                                         ON_THE_GPU);
    return c;
}

#define PACKED(name, type, space)                                            \
    DEVICE type try_##name(type *p, type, type v)                            \
    {                                                                        \
        return __builtin_amdgcn_##name(                                      \
            (__attribute__((address_space(space))) type *)p, v);             \
    }

#define KERNEL(name, type, ...)                                              \
    extern "C" __attribute__((global)) void name(type *g, type *old, type c, \
                                                 type v)                     \
    {                                                                        \
        __VA_ARGS__;                                                         \
    }
#define GLOBAL(op, type, call)                                               \
    KERNEL(op##_##type##_global, type,                                       \
           old[LANE] = try_##call(g + LANE, c, v))                           \
    KERNEL(op##_##type##_global_unused, type, try_##call(g + LANE, c, v))
#define FILL(type)                                                           \
    static __attribute__((shared)) type s[1024];                             \
    s[LANE] = g[LANE];                                                       \
    BARRIER
#define SHARED(op, type, call)                                               \
    KERNEL(op##_##type##_shared, type, FILL(type);                           \
           old[LANE] = try_##call(s + LANE, c, v); BARRIER;                  \
           g[LANE] = s[LANE])                                                \
    KERNEL(op##_##type##_shared_unused, type, FILL(type);                    \
           try_##call(s + LANE, c, v); BARRIER; g[LANE] = s[LANE])

GLOBAL(add, half, add) SHARED(add, half, add)
GLOBAL(add, bf16, add) SHARED(add, bf16, add)
GLOBAL(add, float, add) SHARED(add, float, add)
GLOBAL(max, half, max) SHARED(max, half, max)
GLOBAL(min, half, min) SHARED(min, half, min)
GLOBAL(cas, ushort, cas) SHARED(cas, ushort, cas)

#if __has_builtin(__builtin_amdgcn_global_atomic_fadd_v2f16)
PACKED(global_atomic_fadd_v2f16, half2, 1)
GLOBAL(add, half2, global_atomic_fadd_v2f16)
#endif
#if __has_builtin(__builtin_amdgcn_global_atomic_fadd_v2bf16)
PACKED(global_atomic_fadd_v2bf16, bf162, 1)
GLOBAL(add, bf162, global_atomic_fadd_v2bf16)
#endif
#if __has_builtin(__builtin_amdgcn_ds_atomic_fadd_v2f16)
PACKED(ds_atomic_fadd_v2f16, half2, 3)
SHARED(add, half2, ds_atomic_fadd_v2f16)
#endif
#if __has_builtin(__builtin_amdgcn_ds_atomic_fadd_v2bf16)
PACKED(ds_atomic_fadd_v2bf16, bf162, 3)
SHARED(add, bf162, ds_atomic_fadd_v2bf16)
#endif
