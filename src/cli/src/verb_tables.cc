// What the program can be told: every verb with its options, by task.
#include "verb_tables.h"

#include "project_command.h"

namespace stepslack::cli {
namespace {

const OptionInfo kTraces{
    "PATH", "", "", "files, folders, patterns or archives of traces", {}, true};

std::vector<VerbInfo> InputVerbs() {
  return {{"import",
           "get data in",
           "recognise and read traces, logs and dumps; keep what they say in a room",
           {"stepslack import traces/ --room room"},
           {kTraces, {"--room", "DIR", "room", "the room to keep it in", {}}},
           {"text", "json"}}};
}

VerbInfo StudyVerb() {
  return {"study",
          "train",
          "run a planned set of trainings, ours or any command; resume; compare",
          {"stepslack study examples/study/study.toml --room room",
           "stepslack study sweep.toml --jobs 2 --format html -o sweep.html",
           "stepslack study scale.toml --dry-run"},
          {{"FILE", "", "", "study.toml: what runs, what varies, what counts", {}},
           {"--room", "DIR", "room", "where trials and their results are kept", {}},
           {"--jobs", "N", "1", "commands at a time", {}},
           {"--retry-failed", "", "", "run trials again that did not end well", {}},
           {"--dry-run", "", "", "say what would be run", {}}},
          {"text", "json", "csv", "markdown", "html"}};
}

std::vector<VerbInfo> TrainVerbs() {
  return {{"train",
           "train",
           "train a model over many ranks and keep the record of the run",
           {"stepslack train examples/irdrop/run.toml --ranks 2 --room room",
            "mpirun -np 2 stepslack train run.toml --backend mpi"},
           {{"FILE", "", "", "run.toml: data, model, training, communication", {}},
            {"--ranks", "N", "", "training processes instead of the file's number", {}},
            {"--room", "DIR", "room", "where data, runs and the ledger are kept", {}},
            {"--seed", "N", "", "seed instead of the file's", {}},
            {"--backend",
             "NAME",
             "",
             "how ranks talk to each other instead of the file's choice",
             {"auto", "shm", "gloo", "mpi", "hier", "nccl"}},
            {"--no-comm",
             "",
             "",
             "no gradient exchange: what the same ranks cost without communication",
             {}},
            {"--again", "", "", "train anew although such a run is in the room", {}}},
           {"text", "json"}},
          StudyVerb()};
}

std::vector<VerbInfo> MeasureVerbs() {
  return {{"measure",
           "measure",
           "what the traces of a run say: exact times, waits, causes of lost time",
           {"stepslack measure traces/", "stepslack measure traces/ --format json",
            "stepslack measure 'run/*.json.gz' --by collective --format csv"},
           {kTraces,
            {"--by",
             "WHAT",
             "",
             "one table of this instead of the summary",
             {"rank", "step", "phase", "collective", "kernel", "stream"}},
            {"--target",
             "METRIC>=X",
             "",
             "what a run of the metric logs has to reach, also METRIC<=X",
             {}}},
           {"text", "json", "csv", "markdown", "html"}},
          {"compare",
           "measure",
           "what changed between two sets of traces, or of training logs",
           {"stepslack compare before/ after/",
            "stepslack compare runs_a/ runs_b/ --format json"},
           {{"BEFORE", "", "", "file, folder, pattern or archive", {}},
            {"AFTER", "", "", "file, folder, pattern or archive", {}}},
           {"text", "json", "markdown"}},
          {"show",
           "measure",
           "something to look at: the timeline of all ranks, or how a run goes",
           {"stepslack show timeline traces/ -o timeline.html",
            "stepslack show run 4f2a91 --room room",
            "stepslack show run DIR --format json"},
           {{"WHAT", "", "", "what to show", {"timeline", "run"}},
            {"PATH", "", "", "traces of a timeline; id or folder of a run", {}, true},
            {"--room", "DIR", "room", "the room that has the run of this id", {}}},
           {"html", "text", "json"}},
          {"export",
           "measure",
           "one merged trace with corrected clocks and marked findings",
           {"stepslack export perfetto traces/ -o merged.json.gz"},
           {{"WHAT", "", "", "for which viewer", {"perfetto"}}, kTraces},
           {"json"}}};
}

std::vector<VerbInfo> DecideVerbs() {
  return {{"review",
           "decide",
           "run the whole review: data, training, measurement, diagnosis, decision",
           {"stepslack review examples/irdrop/review.toml --room room",
            "stepslack review review.toml --data maps/ --format json"},
           {{"FILE", "", "", "review.toml: decision, requirements, data, training", {}},
            {"--room", "DIR", "room", "where results and the cache are kept", {}},
            {"--data",
             "DIR",
             "",
             "read maps from this folder instead of the configured one",
             {}},
            {"--ranks",
             "N",
             "",
             "training processes instead of the configured number",
             {}}},
           {"text", "json", "markdown", "html"}},
          {"verify",
           "decide",
           "check a capsule: every artifact's digest against its file",
           {"stepslack verify room/capsule.json"},
           {{"FILE", "", "", "capsule.json inside its room", {}}},
           {"text"}}};
}

std::vector<VerbInfo> KeepVerbs() {
  return {{"log",
           "keep",
           "list what a room has computed, oldest first",
           {"stepslack log --room room"},
           {{"--room", "DIR", "room", "the room to list", {}}},
           {"text", "json"}},
          {"bench",
           "keep",
           "measure what communication costs here; keep it in a room for `train`",
           {"stepslack bench comm --ranks 2 --room room",
            "stepslack bench comm --backend shm,gloo --bytes 4096,1048576"},
           {{"WHAT", "", "", "what to measure: comm", {}},
            {"--ranks", "N", "2", "processes that talk to each other", {}},
            {"--backend",
             "LIST",
             "",
             "of shm, gloo, mpi, openmpi, hier, nccl; empty: what is there",
             {}},
            {"--bytes", "LIST", "", "vector lengths; empty: 4 KiB to 100 MB", {}},
            {"--collective",
             "LIST",
             "all_reduce",
             "of all_reduce, reduce_scatter, all_gather, broadcast, all_to_all",
             {}},
            {"--room", "DIR", "room", "the room to keep the table in", {}}},
           {"text", "json"}},
          {"doctor",
           "keep",
           "check this machine for what slows or breaks training",
           {"stepslack doctor", "stepslack doctor --format json"},
           {},
           {"text", "json"}},
          {"completion",
           "keep",
           "print the completion script for bash",
           {"stepslack completion > /etc/bash_completion.d/stepslack"},
           {},
           {"text"}}};
}

std::vector<VerbInfo> AllVerbs() {
  std::vector<VerbInfo> verbs;
  for (auto& some : {InputVerbs(),
                     DataVerbs(),
                     TrainVerbs(),
                     MeasureVerbs(),
                     {ProjectVerb()},
                     DecideVerbs(),
                     KeepVerbs()}) {
    verbs.insert(verbs.end(), some.begin(), some.end());
  }
  return verbs;
}

}  // namespace

std::span<const VerbInfo> Verbs() {
  static const std::vector<VerbInfo> verbs = AllVerbs();
  return verbs;
}

}  // namespace stepslack::cli
