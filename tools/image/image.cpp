// Packs guest programs into the image that a RISC-V machine gets as its ramdisk (port-riscv/image.h).
//
// usage: image OUTPUT NAME=FILE...
//   The first program runs in init's place. A name has 1 to 31 bytes and names one program only.
// exit code: 0, or 1 with one line of what is wrong; then there is no output file.

#include <bit>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "port-riscv/image.h"

namespace {

using namespace ravelin::riscv;

static_assert(std::endian::native == std::endian::little,
              "the image is written as it is in memory");

[[noreturn]] void fail(const std::string& what) {
    std::fprintf(stderr, "image: %s\n", what.c_str());
    std::exit(1);
}

struct Program {
    std::string name;
    std::string bytes;
};

Program read_program(std::string_view word) {
    const std::size_t equals = word.find('=');
    if (equals == std::string_view::npos) {
        fail("no NAME=FILE: " + std::string(word));
    }
    Program program{std::string(word.substr(0, equals)), {}};
    if (program.name.empty() || program.name.size() >= sizeof ImageEntry::name) {
        fail("a name has 1 to 31 bytes: '" + program.name + "'");
    }
    const std::string path(word.substr(equals + 1));
    std::ifstream file(path, std::ios::binary);
    if (!file || !std::filesystem::is_regular_file(path)) {
        fail("cannot read " + path);
    }
    program.bytes.assign(std::istreambuf_iterator<char>(file), {});
    if (program.bytes.empty()) {
        fail(path + " is empty");
    }
    return program;
}

void align(std::string& image) {
    image.resize((image.size() + kImageAlign - 1) / kImageAlign * kImageAlign, '\0');
}

std::string pack(const std::vector<Program>& programs) {
    std::string image(sizeof(ImageHead) + programs.size() * sizeof(ImageEntry), '\0');
    align(image);
    for (std::size_t i = 0; i < programs.size(); ++i) {
        ImageEntry entry{};
        programs[i].name.copy(entry.name, sizeof entry.name - 1);
        entry.offset = image.size();
        entry.bytes = programs[i].bytes.size();
        std::memcpy(image.data() + sizeof(ImageHead) + i * sizeof entry, &entry, sizeof entry);
        image += programs[i].bytes;
        align(image);
    }
    ImageHead head{};
    std::memcpy(head.magic, kImageMagic, sizeof head.magic);
    head.version = kImageVersion;
    head.count = static_cast<std::uint32_t>(programs.size());
    head.bytes = image.size();
    std::vector<std::uint32_t> words((image.size() - sizeof head) / sizeof(std::uint32_t));
    std::memcpy(words.data(), image.data() + sizeof head, words.size() * sizeof words[0]);
    image_sums(words, head.sums);
    std::memcpy(image.data(), &head, sizeof head);
    return image;
}

}  // namespace

int main(int count, char** words) {
    if (count < 3) {
        fail("usage: image OUTPUT NAME=FILE...");
    }
    std::vector<Program> programs;
    for (int i = 2; i < count; ++i) {
        Program program = read_program(words[i]);
        for (const Program& other : programs) {
            if (other.name == program.name) {
                fail("two programs of the name " + program.name);
            }
        }
        programs.push_back(std::move(program));
    }
    const std::string image = pack(programs);
    std::ofstream file(words[1], std::ios::binary | std::ios::trunc);
    file.write(image.data(), static_cast<std::streamsize>(image.size()));
    file.close();
    if (!file) {
        std::remove(words[1]);
        fail(std::string("cannot write ") + words[1]);
    }
}
