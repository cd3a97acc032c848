/* What the explorer `slot` must show: lesson 3's fast add itself (its file is
 * included, rewritten by common/cpu/launch.awk) and four ways to get it wrong,
 * run by the CPU emulation on a table of bases, lengths and indices. Prints a
 * JSON list with the memory after each add. */
#define main lesson_main
#include "v2_fastadd.c"
#undef main

enum { WINDOW = 24 }; /* halves; the array's base is one of the 4th to 11th */
enum { MOST_LENGTH = 8, OFFSET = 4 };
enum variant { RIGHT, PARITY, LONG, WRAP, PLUS, VARIANTS };

static const char *const variant_names[VARIANTS] = {"right", "parity", "long",
                                                    "wrap", "plus"};

/* fast_add() with `index & 1` in place of the address. */
static __device__ void add_by_index(half *array, long long length,
                                    long long index, half value, half pad)
{
    half *target = array + index;

    if (!(index & 1) && index + 1 < length)
        atomicAdd((half2 *)target, __halves2half2(value, pad));
    else if (index & 1)
        atomicAdd((half2 *)(target - 1), __halves2half2(pad, value));
    else
        atomicAdd(target, value);
}

/* fast_add() with a test that wraps at length 0. */
static __device__ void add_wrapping(half *array, unsigned length,
                                    unsigned index, half value, half pad)
{
    half *target = array + index;
    int is_high = ((size_t)target & 2) != 0;

    if (!is_high && index < length - 1)
        atomicAdd((half2 *)target, __halves2half2(value, pad));
    else if (is_high && index > 0)
        atomicAdd((half2 *)(target - 1), __halves2half2(pad, value));
    else
        atomicAdd(target, value);
}

static __global__ void add_one(half *memory, int variant, long long base,
                               long long length, long long index, half value,
                               half pad)
{
    half *array = memory + base;

    if (variant == PARITY)
        add_by_index(array, length, index, value, pad);
    else if (variant == WRAP)
        add_wrapping(array, (unsigned)length, (unsigned)index, value, pad);
    else
        fast_add(array, length, index, value, pad);
}

/* The memory is `neighbour` throughout, but for the target, which is 1. What is
 * misaligned is not run: the fault would end all later launches. */
static void print_case(int variant, long long base, long long length,
                       long long index, uint16_t value, uint16_t neighbour)
{
    static const char *separator = "";
    static half *d_memory;
    uint16_t memory[WINDOW];
    long long told = length + (variant == LONG);
    int misaligned, i;

    if (!d_memory)
        CHECK(cudaMalloc((void **)&d_memory, sizeof memory));
    for (i = 0; i < WINDOW; i++)
        memory[i] = neighbour;
    memory[base + index] = ONE;
    /* Of all these, only pairs by index on an odd base are misaligned. */
    misaligned = variant == PARITY && base % 2 == 1 &&
                 (index % 2 == 1 || index + 1 < told);
    CHECK(cudaMemcpy(d_memory, memory, sizeof memory, cudaMemcpyHostToDevice));
    if (!misaligned) {
        half v = __ushort_as_half(value);
        half pad = __ushort_as_half(variant == PLUS ? 0 : MINUS_ZERO);
        add_one<<<1, 1>>>(d_memory, variant, base, told, index, v, pad);
        CHECK(cudaDeviceSynchronize());
    }
    CHECK(cudaMemcpy(memory, d_memory, sizeof memory, cudaMemcpyDeviceToHost));
    printf("%s\n{\"variant\":\"%s\",\"base\":%lld,\"length\":%lld,"
           "\"index\":%lld,\"value\":%u,\"neighbour\":%u,\"error\":%d,"
           "\"after\":[",
           separator, variant_names[variant], 2 * (base - OFFSET), length,
           index, value, neighbour, misaligned ? 716 : 0);
    for (i = 0; i < WINDOW; i++)
        printf("%s%u", i ? "," : "", memory[i]);
    printf("]}");
    separator = ",";
}

int main(void)
{
    static const uint16_t values[] = {0x3c00, 0x8000, 0x211e, 0x7bff};
    static const uint16_t beside[] = {0x8000, 0x7e01, 0x3c00};
    long long base, length, index;
    unsigned count = 0;
    int variant;

    printf("[");
    for (variant = 0; variant < VARIANTS; variant++)
        for (base = OFFSET; base < OFFSET + 8; base++)
            for (length = 0; length <= MOST_LENGTH; length++)
                for (index = 0; index == 0 || index < length; index++) {
                    print_case(variant, base, length, index, values[count % 4],
                               beside[count % 3]);
                    count++;
                }
    printf("]\n");
    return 0;
}
