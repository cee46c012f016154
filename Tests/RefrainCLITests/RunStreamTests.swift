// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import OriginServer
  import TestSupport
  import Testing

  /// `refrain run` with a program that reads a stream by itself.
  @Suite(.enabled(if: RequiredProgram.ffmpeg.isUsable), .timeLimit(.minutes(2)))
  struct RunStreamTests {
    @Test func `ffmpeg decodes a stream, and again without the origin`() async throws {
      try await TuneStream.with("/tune.m3u8") { program, stream in
        let ffmpeg = try RequiredProgram.ffmpeg.path.path(percentEncoded: false)
        #expect(stream.segments.count > 5)
        for state in ["cold", "without the origin"] {
          let run = try await program.run(
            "run", "--", ffmpeg, "-nostdin", "-v", "error", "-i", stream.url,
            "-f", "null", "-", "-y", stream.output)
          #expect(run.status == 0 && run.errors.isEmpty, "\(state): \(run.errors)")
          // A segment that cannot be read is left out.
          let seconds = try stream.seconds(in: stream.output)
          #expect(abs(seconds - TuneStream.tuneSeconds) < 0.5, "\(state)")
          #expect(stream.requests.allSatisfy { $0 == 1 }, "\(state): \(stream.requests)")
          await stream.origin.stopListening()
        }
      }
    }
  }
#endif
