// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import TestSupport
import Testing

/// The test media: some seconds of noise and of moving bars, made by ffmpeg.
enum Media: String, CaseIterable, Sendable, CustomTestStringConvertible {
  case wav
  case mp3
  /// An MP4 that begins with its index, as for the web.
  case indexFirst = "first.mp4"
  /// An MP4 that ends with its index: a player reads the index before it can begin.
  case indexLast = "last.mp4"

  var testDescription: String { rawValue }

  var hasVideo: Bool { self == .indexFirst || self == .indexLast }

  /// The target of a seek, in seconds.
  static let middle = 4.0

  /// The name of its file.
  var name: String { "bars.\(rawValue)" }

  var contentType: String {
    switch self {
    case .wav: "audio/wav"
    case .mp3: "audio/mpeg"
    case .indexFirst, .indexLast: "video/mp4"
    }
  }

  /// Returns the resource as an origin serves it: with both validators, and modified so long ago
  /// that it stays fresh.
  func resource() async throws -> OriginResource {
    OriginResource(
      .bytes(try await bytes()), contentType: contentType, etag: "\"\(rawValue)-1\"",
      lastModified: Date(timeIntervalSinceNow: -100 * 24 * 3600))
  }

  /// Returns the file's bytes, which are made once per test run.
  func bytes() async throws -> Data {
    try await Self.made.value(for: self) { try await make() }
  }

  private static let made = MadeOnce<Media, Data>()

  private func make() async throws -> Data {
    try await withDirectory { directory in
      try await run(
        .ffmpeg, ["-nostdin", "-v", "error"] + arguments + ["-fflags", "+bitexact", name],
        in: directory)
      return try Data(contentsOf: directory.appending(path: name))
    }
  }

  private var arguments: [String] {
    let noise = ["-f", "lavfi", "-i", "anoisesrc=duration=8:color=pink:sample_rate=44100:seed=1"]
    let bars = ["-f", "lavfi", "-i", "testsrc2=size=160x120:rate=25:duration=8"]
    let codecs = ["-c:v", "libx264", "-preset", "ultrafast", "-g", "25", "-pix_fmt", "yuv420p"]
    let video = noise + bars + codecs + ["-c:a", "aac"]
    switch self {
    case .wav: return noise + ["-ac", "2"]
    case .mp3: return noise + ["-c:a", "libmp3lame", "-b:a", "320k"]
    case .indexFirst: return video + ["-movflags", "+faststart"]
    // A large file: noise in the pictures costs bits.
    case .indexLast: return video + ["-vf", "noise=alls=30:allf=t", "-b:v", "3M"]
    }
  }
}

/// A file of plain samples.
enum WAV {
  static let headLength = 44

  /// - Parameter count: the number of bytes that follow.
  static func head(_ count: Int, rate: Int, channels: Int, bytesPerSample: Int) -> [UInt8] {
    func number(_ value: Int, _ count: Int) -> [UInt8] {
      (0..<count).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
    }
    let frame = channels * bytesPerSample
    var head = Array("RIFF".utf8) + number(count + headLength - 8, 4)
    head += "WAVEfmt ".utf8
    head += number(16, 4) + number(1, 2) + number(channels, 2) + number(rate, 4)
    head += number(rate * frame, 4) + number(frame, 2) + number(8 * bytesPerSample, 2)
    head += "data".utf8
    return head + number(count, 4)
  }
}
