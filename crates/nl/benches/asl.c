/* How long AMPL's own library takes for what `cargo bench -p tangor-nl` times: objective, gradient, constraints and Jacobian, at two points in turn.
 *
 *     apt install libamplsolver-dev
 *     cc -O2 -I /usr/include/ampl-netlib-solvers crates/nl/benches/asl.c -lamplsolver -lm -ldl -o asl && ./asl FILE.nl ...
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "asl.h"

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + 1e-9 * t.tv_nsec;
}

static void measure(char *file) {
    ASL *asl = ASL_alloc(ASL_read_fg);
    FILE *nl = jac0dim(file, 0);
    want_xpi0 = 1;
    X0 = (real *)Malloc(n_var * sizeof(real));
    A_vals = 0;
    fg_read(nl, 0);
    real *points[2], *g = Malloc(n_var * sizeof(real)), *c = Malloc((n_con + 1) * sizeof(real)), *j = Malloc((nzc + 1) * sizeof(real));
    for (int k = 0; k < 2; k++) {
        points[k] = Malloc(n_var * sizeof(real));
        for (int i = 0; i < n_var; i++) points[k][i] = X0[i] + 1e-3 * k;
    }
    double best = INFINITY, begin = now();
    for (int run = 0; run < 5 || (run < 1000 && now() - begin < 0.3); run++) {
        real *x = points[run % 2];
        fint error = 0;
        double start = now();
        if (n_obj > 0) {
            objval(0, x, &error);
            objgrd(0, x, g, &error);
        }
        if (n_con > 0) {
            conval(x, c, &error);
            jacval(x, j, &error);
        }
        double time = now() - start;
        if (time < best) best = time;
    }
    printf("%s %d %d %d %.2f\n", file, n_var, n_con, (int)nzc, 1e6 * best);
    ASL_free(&asl);
}

int main(int count, char **files) {
    printf("file n m nonzeros us\n");
    for (int k = 1; k < count; k++) measure(files[k]);
    return 0;
}
