// Odds of hash-based deduplication: what MinHash with banding finds, how exact its
// similarity is, and how likely two different rows share a hash. No units.
#pragma once

#include <cstdint>

namespace stepslack::stats {

// All NaN when an argument is out of range.

// Chance that two rows of Jaccard similarity s in [0, 1] meet in at least one of
// `bands` bands of `rows` hashes: 1 - (1 - s^rows)^bands (Leskovec, Rajaraman and
// Ullman, Mining of Massive Datasets, section 3.4).
double LshCandidateProbability(double similarity, int64_t bands, int64_t rows);
// Similarity at which that curve is steepest, about: (1 / bands)^(1 / rows).
double LshThreshold(int64_t bands, int64_t rows);

// Standard deviation of a MinHash estimate of similarity s from k hashes: sqrt(s (1 -
// s) / k).
double MinHashDeviation(double similarity, int64_t k);

// Chance that any two of n different rows share a `bits`-bit hash: 1 - exp(-n (n - 1) /
// 2^(bits + 1)), which is n^2 / 2^(bits + 1) while small. 1 to 512 bits.
double HashCollisionOdds(double n, int bits);

}  // namespace stepslack::stats
