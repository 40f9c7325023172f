// What a call gives: a value, or the kernel's reason for refusing.
#pragma once

#include <utility>

#include "core/abi/calls.h"

namespace ravelin::rt {

using abi::Status;

/// A value or an error. Reading the value of an error is a bug of the program: it gets the value that
/// a T has by itself (a handle that names nothing, 0).
template <class T>
class [[nodiscard]] Result {
  public:
    Result(T value) : value_(std::move(value)) {}
    Result(Status error) : status_(error) {}

    bool ok() const { return status_ == Status::ok; }
    Status status() const { return status_; }
    T& value() { return value_; }

  private:
    Status status_ = Status::ok;
    T value_{};
};

/// The outcome of a call that gives nothing.
class [[nodiscard]] Outcome {
  public:
    Outcome(Status status) : status_(status) {}

    bool ok() const { return status_ == Status::ok; }
    Status status() const { return status_; }

  private:
    Status status_;
};

}  // namespace ravelin::rt
