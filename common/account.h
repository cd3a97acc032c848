/* The constants of lesson 5's account, v0 = (n + k M R) t_cas and v2 = n t_add,
 * where R threads are in flight. The lesson and exercise 13 include them; the
 * tables and plots read them by name, so each stands on a line of its own.
 * Plain C; knows no CUDA. */
#ifndef ACCOUNT_H
#define ACCOUNT_H

/* k: how many tries fail for each of the R threads when the sum moves. Fitted
 * on one H200 (results/nvidia_h200/ has later runs of it); the least on a
 * second (results/nvidia_h200_2.csv), the most on the first with fewer threads
 * in flight. */
static const double LIKELY_K = 0.31;
static const double LEAST_K = 0.16;
static const double MOST_K = 0.43;

/* M: adds of 0.00999451 that move a half from 0, until it stays at 32. Half
 * precision says so, not the GPU. */
static const double MOVING = 2798;

/* t_add / t_cas, the price of a 4-byte add in tries of a 2-byte one. Fitted on
 * the same H200 as k. */
static const double PRICES = 2.375;

/* t_add, ns: what an add of lesson 2 takes, of 2^25, on the H200, the RTX 5070
 * and the A100 (results/). */
static const double LIKELY_T_ADD = 1.756;
static const double LEAST_T_ADD = 1.18;
static const double MOST_T_ADD = 4.08;

#endif
