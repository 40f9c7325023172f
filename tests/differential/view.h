// The state of a kernel as a list of named numbers, so that two states can be compared: the same one
// before and after a refused call, or the core's beside the model's (tests/model/calls.h).
//
// A view has what calls can change and other calls can find out: budgets, processes, handles, threads
// with their waits and messages, open calls, endpoints, devices and mappings. It has no scheduling and
// nothing of how the core keeps its lists. Bound: linear in the objects and mappings.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace ravelin::differential {

class View {
  public:
    void put(const char* name, std::uint64_t value) {
        names_.push_back(name);
        values_.push_back(value);
    }

    bool operator==(const View& other) const { return values_ == other.values_; }

    /// Where two views part, with what stands before it; empty if they do not.
    std::string difference(const View& other) const;

  private:
    std::vector<const char*> names_;
    std::vector<std::uint64_t> values_;
};

}  // namespace ravelin::differential
