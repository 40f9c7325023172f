// Writes the trace file of docs/trace.md.

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "ravelin_hosted.h"

namespace ravelin::hosted {

namespace {

// FNV-1a over bytes, 64 bits.
u64 digest_of(std::span<const std::byte> bytes) {
    u64 digest = 0xcbf29ce484222325u;
    for (const std::byte byte : bytes) {
        digest = (digest ^ static_cast<u64>(byte)) * 0x100000001b3u;
    }
    return digest;
}

}  // namespace

std::string write_trace(const std::string& path, abi::TraceHead head,
                        std::span<const abi::TraceRecord> records) {
    std::memcpy(head.magic, "RAVTRACE", sizeof head.magic);
    head.version = abi::kTraceVersion;
    head.record_size = sizeof(abi::TraceRecord);
    head.records = records.size();
    head.digest = digest_of(std::as_bytes(records));
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "wb"),
                                                               std::fclose);
    if (file == nullptr) {
        return path + ": " + std::strerror(errno);
    }
    if (std::fwrite(&head, sizeof head, 1, file.get()) != 1 ||
        std::fwrite(records.data(), sizeof(abi::TraceRecord), records.size(), file.get()) !=
            records.size() ||
        std::fflush(file.get()) != 0) {
        return path + ": " + std::strerror(errno);
    }
    return {};
}

}  // namespace ravelin::hosted
