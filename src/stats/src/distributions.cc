#include "stepslack/stats/distributions.h"

#include <boost/math/distributions/beta.hpp>
#include <boost/math/distributions/binomial.hpp>
#include <boost/math/distributions/chi_squared.hpp>
#include <boost/math/distributions/non_central_t.hpp>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <limits>

namespace stepslack::stats {
namespace {

namespace bm = boost::math;
using bm::policies::ignore_error;
// Never throws, and stays in double so that results do not depend on long double.
using Quiet = bm::policies::policy<
    bm::policies::domain_error<ignore_error>, bm::policies::pole_error<ignore_error>,
    bm::policies::overflow_error<ignore_error>,
    bm::policies::evaluation_error<ignore_error>, bm::policies::promote_double<false>>;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

bool IsLevel(double p) { return p > 0 && p < 1; }
bool IsPositive(double x) { return std::isfinite(x) && x > 0; }

}  // namespace

double NormalCdf(double z) {
  if (std::isnan(z)) return kNan;
  return 0.5 * std::erfc(-z / std::sqrt(2.0));
}

double NormalQuantile(double p) {
  if (p == 0) return -kInfinity;
  if (p == 1) return kInfinity;
  if (!IsLevel(p)) return kNan;
  return bm::quantile(bm::normal_distribution<double, Quiet>(), p);
}

double StudentCdf(double t, double degrees) {
  if (std::isnan(t) || !IsPositive(degrees)) return kNan;
  if (std::isinf(t)) return t < 0 ? 0.0 : 1.0;
  return bm::cdf(bm::students_t_distribution<double, Quiet>(degrees), t);
}

double StudentQuantile(double p, double degrees) {
  if (!IsLevel(p) || !IsPositive(degrees)) return kNan;
  return bm::quantile(bm::students_t_distribution<double, Quiet>(degrees), p);
}

double StudentTwoSidedP(double t, double degrees) {
  return 2 * StudentCdf(-std::fabs(t), degrees);
}

double NoncentralStudentCdf(double t, double degrees, double noncentrality) {
  if (!std::isfinite(t) || !IsPositive(degrees) || !std::isfinite(noncentrality)) {
    return kNan;
  }
  using Distribution = bm::non_central_t_distribution<double, Quiet>;
  return bm::cdf(Distribution(degrees, noncentrality), t);
}

double ChiSquaredUpperTail(double x, double degrees) {
  if (std::isnan(x) || x < 0 || !IsPositive(degrees)) return kNan;
  if (std::isinf(x)) return 0;
  using Distribution = bm::chi_squared_distribution<double, Quiet>;
  return bm::cdf(bm::complement(Distribution(degrees), x));
}

double BetaQuantile(double p, double a, double b) {
  if (!IsLevel(p) || !IsPositive(a) || !IsPositive(b)) return kNan;
  return bm::quantile(bm::beta_distribution<double, Quiet>(a, b), p);
}

double BinomialCdf(int64_t k, int64_t n, double p) {
  if (n < 0 || !(p >= 0 && p <= 1)) return kNan;
  if (k < 0) return 0;
  if (k >= n) return 1;
  using Distribution = bm::binomial_distribution<double, Quiet>;
  return bm::cdf(Distribution(static_cast<double>(n), p), static_cast<double>(k));
}

double BinomialPmf(int64_t k, int64_t n, double p) {
  if (n < 0 || !(p >= 0 && p <= 1)) return kNan;
  if (k < 0 || k > n) return 0;
  using Distribution = bm::binomial_distribution<double, Quiet>;
  return bm::pdf(Distribution(static_cast<double>(n), p), static_cast<double>(k));
}

}  // namespace stepslack::stats
