// SPDX-License-Identifier: MIT
import Foundation
import TestSupport
import Testing

@testable import RefrainAVFoundation

/// Files as ffmpeg writes them, recognised by their first bytes.
@Suite(.enabled(if: RequiredProgram.ffmpeg.isUsable), .timeLimit(.minutes(2)))
struct FFmpegFileTests {
  /// File, encoding, type. MP4 files of ffmpeg have the brand `isom` whatever their contents, so
  /// only a rule about brands is visible.
  static let files: [(String, [String], String)] = [
    ("a.mp3", ["-c:a", "libmp3lame"], "public.mp3"),
    ("bare.mp3", ["-c:a", "libmp3lame", "-id3v2_version", "0", "-write_xing", "0"], "public.mp3"),
    ("low.mp3", ["-c:a", "libmp3lame", "-ar", "8000", "-b:a", "16k"], "public.mp3"),
    ("a.aac", ["-c:a", "aac"], "public.aac-audio"),
    ("a.m4a", ["-c:a", "aac"], "com.apple.m4a-audio"),
    ("a.mp4", ["-c:a", "aac"], "public.mpeg-4"),
    ("fragments.mp4", ["-c:a", "aac", "-movflags", "frag_keyframe+empty_moov"], "public.mpeg-4"),
    ("a.mov", ["-c:a", "aac"], "com.apple.quicktime-movie"),
    ("a.3gp", ["-c:a", "aac"], "public.3gpp"),
    ("a.wav", [], "com.microsoft.waveform-audio"),
    ("large.wav", ["-rf64", "always"], "com.microsoft.waveform-audio"),
    ("a.flac", [], "org.xiph.flac"),
    ("opus.ogg", ["-c:a", "libopus", "-ar", "48000"], "org.xiph.ogg-audio"),
    ("a.aiff", [], "public.aiff-audio"),
  ]

  @Test func `Files written by ffmpeg are recognized by their first bytes`() async throws {
    let directory = FileManager.default.temporaryDirectory
      .appending(path: "refrain-types-\(UUID().uuidString)", directoryHint: .isDirectory)
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: directory) }
    let source = ["-f", "lavfi", "-i", "anoisesrc=duration=2:sample_rate=44100:seed=1"]
    let outputs = Self.files.flatMap { ["-ac", "2"] + $0.1 + [$0.0] }
    let said = directory.appending(path: "said.txt")
    let process = try LeashedProcess(
      RequiredProgram.ffmpeg.path, ["-nostdin", "-v", "error"] + source + outputs,
      in: directory, output: said)
    let status = try await process.exitStatus(within: .seconds(90))
    let complaint = try String(contentsOf: said, encoding: .utf8)
    try #require(status == 0, "\(complaint)")
    for (name, _, type) in Self.files {
      let bytes = try Data(contentsOf: directory.appending(path: name))
      #expect(ContentType.sniffed(bytes) == type, "\(name)")
      #expect(ContentType.sniffed(bytes.prefix(ContentType.sniffLength)) == type, "\(name)")
    }
  }
}
