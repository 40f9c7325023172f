// A trace in the Trace Event Format, which ui.perfetto.dev and chrome://tracing open.
//
// Each hart has two tracks: the user code that ran there, by budget, and its kernel entries, by cause,
// with the wait for the lock inside. Wakes, destructions, lifts and device claims are instants on the
// hart that made them. Times are microseconds from the trace's first record. Bound: one pass.
#pragma once

#include <ostream>

#include "tools/oracle/trace_file.h"

namespace ravelin::viewers {

void write_trace_events(const oracle::Trace& trace, std::ostream& out);

}  // namespace ravelin::viewers
