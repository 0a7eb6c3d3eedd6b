// Refuses plans that can not be trained, before anything is read.
#pragma once

#include "stepslack/base/result.h"
#include "stepslack/record/train_plan.h"

namespace stepslack::train {

// TRAIN-0002 names the key and its allowed range.
base::Status CheckPlan(const record::TrainPlan& plan);

}  // namespace stepslack::train
