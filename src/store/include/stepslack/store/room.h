// A room: the folder in which Stepslack keeps what it has computed.
//   stepslack.toml           marks the folder; holds the schema version
//   .stepslack/lock          held while a command changes the room
//   .stepslack/ledger.db     SQLite, WAL: stages, runs, reviews
//   .stepslack/objects/ab/…  content-addressed files, named by SHA-256
//   .stepslack/runs/<id>/    one folder per training run
// Every write is atomic, so a killed process leaves a room that opens again.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stepslack/base/json.h"

namespace stepslack::store {

// What a stage leaves: a small JSON value and named objects (by digest).
struct StageOutput {
  base::Json value;
  std::map<std::string, std::string> objects;  // name -> SHA-256
};

// One line of the ledger, for `stepslack log`.
struct StageEntry {
  std::string name;
  std::string key;
  std::string created_utc;
  double seconds = 0;
};

class Room {
 public:
  // Creates the room if the folder is absent or empty, then takes the lock.
  // STORE-0001 not a room, STORE-0002 used by another process, STORE-0003 too little
  // free space (< 64 MiB), STORE-0004 ledger damaged or of a newer version.
  static base::Result<Room> Open(const std::string& path);
  Room(Room&&) noexcept;
  Room& operator=(Room&&) noexcept;
  ~Room();

  const std::string& path() const;
  std::string RunsFolder() const;
  std::string ScratchFolder() const;  // emptied at every Open

  // Objects. PutFile moves the file in (same file system) after hashing it.
  base::Result<std::string> PutBytes(std::string_view bytes);
  base::Result<std::string> PutFile(const std::string& path);
  std::string ObjectPath(std::string_view sha256) const;
  // Reads an object and checks its digest: STORE-0005 (exit 5) when it was altered.
  base::Result<std::string> GetBytes(std::string_view sha256) const;

  // A finished stage with this key whose objects are all present and of the size they
  // were stored with; a stage with a missing object counts as not done.
  base::Result<std::optional<StageOutput>> FindStage(std::string_view name,
                                                     std::string_view key) const;
  base::Status SaveStage(std::string_view name, std::string_view key,
                         const StageOutput& output, double seconds);
  base::Result<std::vector<StageEntry>> Stages() const;

 private:
  struct State;
  explicit Room(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace stepslack::store
