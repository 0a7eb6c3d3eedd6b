// Plain mistakes in the data of a training job, found before ranks are started: a rank
// would find them too, but only after everything has been read, copied and launched.
#pragma once

#include "stepslack/base/result.h"
#include "stepslack/study/train_job.h"

namespace stepslack::study {

// Of a job with source "arrays"; looks at shapes only. Errors: TRAIN-0310 shards of one
// array with different rows, TRAIN-0311 a shape that the model does not take,
// TRAIN-0312 not as many inputs as targets, and those of record::ListShards and MapNpy.
base::Status CheckArrayShapes(const TrainJob& job);

// Of a plan whose samples are known. TRAIN-0313: a batch is larger than the training
// data.
base::Status CheckBatch(const TrainJob& job);

}  // namespace stepslack::study
