# SPDX-License-Identifier: MIT
# A formula for Homebrew. NOT RUN YET: it was written on a machine without Homebrew, and the program
# has not been built on macOS. Set `url` and `sha256` to those of a release's source.
class Refrain < Formula
  desc "Play remote audio and video through a cache that fetches each byte once"
  homepage "https://github.com/OWNER/refrain"
  url "https://github.com/OWNER/refrain/archive/refs/tags/0.1.0.tar.gz"
  sha256 "0000000000000000000000000000000000000000000000000000000000000000"
  license "MIT"

  # Swift 6.3.
  depends_on xcode: ["26.4", :build]
  uses_from_macos "swift" => :build, since: :tahoe

  on_linux do
    depends_on "pkgconf" => :build
    depends_on "curl"
  end

  def install
    arguments = ["--disable-sandbox", "--configuration", "release", "--product", "refrain"]
    arguments << "--static-swift-stdlib" if OS.linux?
    system "swift", "build", *arguments
    # The program with its manual, completions, and on Linux the units of systemd.
    ENV["PREFIX"] = prefix
    ENV["SYSCONFDIR"] = etc
    ENV["ZSH_FUNCTIONS"] = "share/zsh/site-functions"
    system "packaging/install", ".build/release/refrain"
  end

  service do
    run [opt_bin/"refrain", "serve"]
    keep_alive crashed: true
    log_path var/"log/refrain.log"
    error_log_path var/"log/refrain.log"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/refrain --version")
    # Without a network: nothing is stored yet.
    assert_equal "[]", shell_output("#{bin}/refrain ls --json --cache #{testpath}/cache").strip
  end
end
