// The few distribution functions that the tests and intervals are built from. Arguments
// out of range give NaN, never an exception. Source: Boost.Math, double precision.
#pragma once

#include <cstdint>

namespace stepslack::stats {

double NormalCdf(double z);
double NormalQuantile(double p);
double StudentCdf(double t, double degrees);
double StudentQuantile(double p, double degrees);
// P(|T| >= |t|).
double StudentTwoSidedP(double t, double degrees);
double NoncentralStudentCdf(double t, double degrees, double noncentrality);
double ChiSquaredUpperTail(double x, double degrees);
double BetaQuantile(double p, double a, double b);
// P(K <= k) and P(K = k) for K ~ Binomial(n, p).
double BinomialCdf(int64_t k, int64_t n, double p);
double BinomialPmf(int64_t k, int64_t n, double p);

}  // namespace stepslack::stats
