#include "tools/testbench/ram_trace.h"

#include <cstring>
#include <fstream>
#include <span>
#include <vector>

#include "tools/oracle/trace_file.h"

namespace ravelin::testbench {

bool save_trace(const std::filesystem::path& ram, const RamTrace& place, std::uint64_t seed,
                const std::filesystem::path& file) {
    std::error_code error;
    const std::uint64_t size = std::filesystem::file_size(ram, error);
    abi::TraceHead head;
    if (error || place.bytes < sizeof head || place.address < place.base || place.bytes > size ||
        place.address - place.base > size - place.bytes) {
        return false;
    }
    std::ifstream from(ram, std::ios::binary);
    from.seekg(static_cast<std::streamoff>(place.address - place.base));
    std::vector<char> buffer(static_cast<std::size_t>(place.bytes));
    from.read(buffer.data(), static_cast<std::streamsize>(buffer.size()));
    std::memcpy(&head, buffer.data(), sizeof head);
    head.seed = seed;
    std::memcpy(buffer.data(), &head, sizeof head);
    head.digest = oracle::digest_of(std::as_bytes(std::span(buffer)));
    std::memcpy(buffer.data(), &head, sizeof head);
    std::ofstream out(file, std::ios::binary);
    out.write(buffer.data(), from.gcount());
    return static_cast<bool>(out.flush());
}

}  // namespace ravelin::testbench
