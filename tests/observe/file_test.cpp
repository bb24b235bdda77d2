// SPDX-License-Identifier: BSD-3-Clause

// A file takes the place of the old one when it is complete, and is then like it: in the directory
// that links lead to, with its permissions, and not where nobody may write.

#include "observe/file.hpp"

#include "testing.hpp"

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <unistd.h>

namespace valet::observe {
namespace {

namespace fs = std::filesystem;

class WholeFile : public testing::Test {
 protected:
  WholeFile() : directory_(fs::temp_directory_path() / ("valet_file_" + std::to_string(getpid()))) {
    fs::create_directories(directory_ / "elsewhere");
  }
  ~WholeFile() override { fs::remove_all(directory_); }
  WholeFile(const WholeFile&) = delete;
  WholeFile& operator=(const WholeFile&) = delete;

  [[nodiscard]] std::string path(const char* name) const { return directory_ / name; }
  static void put(const std::string& path, const std::string& text) { std::ofstream(path) << text; }
  static std::string text_of(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }
  /// What stands in the directories, temporary files included.
  [[nodiscard]] std::size_t entries() const {
    std::size_t count = 0;
    for ([[maybe_unused]] const auto& entry : fs::recursive_directory_iterator(directory_)) ++count;
    return count;
  }
  static int write(const std::string& path, const std::string& text) {
    File file;
    file.create(path);
    file.write(text);
    file.publish();
    return file.error();
  }

  fs::path directory_;
};

TEST_F(WholeFile, IsAsItWasUntilItIsComplete) {
  put(path("file"), "the last one, which was longer");
  {
    File file;
    file.create(path("file"));
    file.write(std::string("half"));
    EXPECT_EQ(text_of(path("file")), "the last one, which was longer");
  }
  EXPECT_EQ(text_of(path("file")), "the last one, which was longer");
  EXPECT_EQ(write(path("file"), "new"), 0);
  EXPECT_EQ(text_of(path("file")), "new");
  EXPECT_EQ(entries(), 2U) << "a temporary file stays";
}

TEST_F(WholeFile, FollowsLinksToFilesThatAreThereOrNot) {
  fs::create_symlink(fs::path("elsewhere") / "target", path("link"));
  fs::create_symlink("link", path("link_to_link"));
  for (const char* const text : {"first", "second"}) {
    EXPECT_EQ(write(path("link_to_link"), text), 0);
    EXPECT_TRUE(fs::is_symlink(path("link")) && fs::is_symlink(path("link_to_link")));
    EXPECT_EQ(text_of(path("elsewhere/target")), text);
  }
}

TEST_F(WholeFile, KeepsItsPermissions) {
  put(path("file"), "private");
  fs::permissions(path("file"), fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_EQ(write(path("file"), "still private"), 0);
  EXPECT_EQ(fs::status(path("file")).permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(WholeFile, IsNotReplacedWhereItMayNotBeWritten) {
  if (geteuid() == 0) GTEST_SKIP() << "root may write everywhere";
  put(path("file"), "read only");
  fs::permissions(path("file"), fs::perms::owner_read);
  EXPECT_EQ(write(path("file"), "new"), EACCES);
  EXPECT_EQ(text_of(path("file")), "read only");
}

}  // namespace
}  // namespace valet::observe
