// Builds the sections of the report from measurements. Sentences state findings with
// their numbers; every figure has the data it shows in its struct.
#pragma once

#include <vector>

#include "measurements.h"
#include "stepslack/evidence/review.h"
#include "stepslack/render/report.h"

namespace stepslack::review {

struct SectionInputs {
  const ReviewConfig& config;
  const DataStages& data;
  const TrainStages& runs;
  const Measurements& measured;
};

render::Section QualitySection(const SectionInputs& in);
render::Section MapsSection(const SectionInputs& in);
render::Section SplitAuditSection(const SectionInputs& in);
render::Section LineageSection(const SectionInputs& in);
render::Section AugmentationSection(const SectionInputs& in);
render::Section HyperparameterSection(const SectionInputs& in);
render::Section ScalingSection(const SectionInputs& in);
render::Section CommsSection(const SectionInputs& in);
render::Section TimelineSection(const SectionInputs& in);
render::Section TimeToAccuracySection(const SectionInputs& in);
render::Section BeforeAfterSection(const SectionInputs& in);
render::Section ReproducibilitySection(const SectionInputs& in);
render::Section LatencySection(const SectionInputs& in);
render::Section TrainingLogSection(const SectionInputs& in);

// Ownership layers, the playbook and the debug branches, with what this review says to
// each.
render::Section PlaybookSection(const SectionInputs& in,
                                const evidence::Review& review);

// Deployment KPIs and rollback plan; needs the finished review.
render::Section KpiSection(const ReviewConfig& config, const evidence::Review& review);

// Sections that hold measurements only; each becomes an artifact of the review.
std::vector<render::Section> MeasuredSections(const SectionInputs& in);

// "0.231 [0.214, 0.250]", or the reason why there is no value.
std::string Short(const base::Estimate& estimate);
// A share as "23.1 % [21.4, 25.0]".
std::string Percent(const base::Estimate& estimate);

}  // namespace stepslack::review
