// SPDX-License-Identifier: MIT
import Foundation
import TestSupport

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// VLC without its windows. Its `stats` output hashes each decoded frame.
enum VLC {
  static func decode(
    _ url: URL, from start: Double?, hasVideo: Bool, in directory: URL
  ) async throws -> Decoded {
    let frames = directory.appending(path: "frames.txt").path(percentEncoded: false)
    // After a seek, the first sound frame of an MP4 varies, and decoded AAC depends on the frames
    // before it. Pictures do not.
    let codecs = hasVideo && start != nil ? "vcodec=I420" : "vcodec=I420,acodec=s16l"
    try await run(
      program,
      ["--ignore-config", "-I", "dummy", "--play-and-exit", "--start-time=\(start ?? 0)"]
        + ["--sout", "#transcode{\(codecs)}:stats{output=\(frames)}", url.absoluteString]
        + ["vlc://quit"],
      in: directory, environment: environment(home: directory))
    let text = try String(contentsOfFile: frames, encoding: .utf8)
    let (sound, pictures) = (hashes(of: "Audio", in: text), hashes(of: "Video", in: text))
    guard start != nil else { return Decoded(frames: sound + pictures) }
    // The first frame after a seek varies by one or two; the rest is the file's.
    return Decoded(frames: Array((hasVideo ? pictures : sound).suffix(80)))
  }

  /// Returns the hashes of lines `prefix track type number time length hash`; a line with `#` ends
  /// each track.
  private static func hashes(of type: Substring, in text: String) -> [String] {
    text.split(separator: "\n").compactMap { line in
      let fields = line.split(separator: "\t")
      return fields.count == 7 && fields[2] == type ? String(fields[6]) : nil
    }
  }

  /// VLC refuses to run as root; a wrapper program switches to the user that sudo(8) names.
  private static var program: RequiredProgram { geteuid() == 0 ? wrapper : .vlc }
  private static let wrapper = RequiredProgram("vlc-wrapper")

  private static func environment(home: URL) -> [String: String] {
    var environment = ["HOME": home.path(percentEncoded: false)]
    if geteuid() == 0, let nobody = getpwnam("nobody") {
      environment["SUDO_UID"] = "\(nobody.pointee.pw_uid)"
      environment["SUDO_GID"] = "\(nobody.pointee.pw_gid)"
    }
    return environment
  }
}
