// Writes the trace file of docs/trace.md.

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "ravelin_hosted.h"

namespace ravelin::hosted {

namespace {

// FNV-1a over bytes, 64 bits, on from a digest.
u64 digest_of(std::span<const std::byte> bytes, u64 digest = 0xcbf29ce484222325u) {
    for (const std::byte byte : bytes) {
        digest = (digest ^ static_cast<u64>(byte)) * 0x100000001b3u;
    }
    return digest;
}

}  // namespace

std::string write_trace(const std::string& path, abi::TraceHead head,
                        std::span<const abi::TraceRecord> records,
                        std::span<const abi::TraceSums> sums) {
    std::memcpy(head.magic, "RAVTRACE", sizeof head.magic);
    head.version = abi::kTraceVersion;
    head.record_size = sizeof(abi::TraceRecord);
    head.records = records.size();
    head.digest = 0;
    const std::span<const std::byte> parts[] = {std::as_bytes(std::span(&head, 1)),
                                                std::as_bytes(records), std::as_bytes(sums)};
    head.digest = digest_of(parts[2], digest_of(parts[1], digest_of(parts[0])));
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "wb"),
                                                               std::fclose);
    if (file == nullptr) {
        return path + ": " + std::strerror(errno);
    }
    for (const std::span<const std::byte> part : parts) {
        if (std::fwrite(part.data(), 1, part.size(), file.get()) != part.size()) {
            return path + ": " + std::strerror(errno);
        }
    }
    if (std::fflush(file.get()) != 0) {
        return path + ": " + std::strerror(errno);
    }
    return {};
}

}  // namespace ravelin::hosted
