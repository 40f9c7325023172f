// Memory of the host that a machine holds: a mapping with an owner. Bound: one mapping each.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <system_error>
#include <utility>

namespace ravelin::hosted {

/// An unnamed file of zero bytes in memory, closed by its destructor.
class HostFile {
  public:
    HostFile() = default;
    /// Throws std::system_error if the host refuses. `name` is what /proc shows.
    HostFile(const char* name, std::size_t size) : number_(::memfd_create(name, MFD_CLOEXEC)) {
        if (number_ < 0 || ::ftruncate(number_, static_cast<off_t>(size)) != 0) {
            const int error = errno;
            close();
            throw std::system_error(error, std::generic_category(), "memfd");
        }
    }
    HostFile& operator=(HostFile&& other) noexcept {
        std::swap(number_, other.number_);
        return *this;
    }
    ~HostFile() { close(); }

    int number() const { return number_; }

  private:
    void close() const {
        if (number_ >= 0) {
            ::close(number_);
        }
    }

    int number_ = -1;
};

/// A mapping, unmapped by its destructor. Not reserved against the host's commit limit: a page
/// costs memory when it is first written.
class HostMemory {
  public:
    HostMemory() = default;
    /// Throws std::system_error if the host refuses. `file` -1: anonymous zero bytes.
    HostMemory(std::size_t size, int protection, int file = -1) : size_(size) {
        const int kind = file < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
        void* start = ::mmap(nullptr, size, protection, kind | MAP_NORESERVE, file, 0);
        if (start == MAP_FAILED) {
            throw std::system_error(errno, std::generic_category(), "mmap");
        }
        start_ = static_cast<std::byte*>(start);
    }
    HostMemory(HostMemory&& other) noexcept
        : start_(std::exchange(other.start_, nullptr)), size_(std::exchange(other.size_, 0)) {}
    HostMemory& operator=(HostMemory&& other) noexcept {
        std::swap(start_, other.start_);
        std::swap(size_, other.size_);
        return *this;
    }
    ~HostMemory() {
        if (start_ != nullptr) {
            ::munmap(start_, size_);
        }
    }

    std::byte* start() const { return start_; }
    std::size_t size() const { return size_; }
    /// The memory as an array; its bytes are zero at first, so T must mean something with that.
    template <class T>
    T* as() const {
        return reinterpret_cast<T*>(start_);
    }

  private:
    std::byte* start_ = nullptr;
    std::size_t size_ = 0;
};

}  // namespace ravelin::hosted
