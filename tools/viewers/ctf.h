// A trace in the Common Trace Format 1.8, which babeltrace2 and Trace Compass read.
//
// One event a record, named by its kind, with the record's fields by name; the hart, the entry and the
// budget are the event's context. The clock counts ticks from the machine's start. A record between an
// entry's two ends carries the time of the last record that has one. Bound: one pass.
#pragma once

#include <filesystem>

#include "tools/oracle/trace_file.h"

namespace ravelin::viewers {

/// Writes the folder, which is made. Throws with the file that cannot be written.
void write_ctf(const oracle::Trace& trace, const std::filesystem::path& folder);

}  // namespace ravelin::viewers
