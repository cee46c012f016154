// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import OriginServer
  import RefrainPlayer

  /// A station whose samples say their places (`NumberedFrames.wav`).
  extension Listening {
    private static let stationPath = "/radio"

    /// Serves a station whose title changes after 300 seconds.
    ///
    /// - Parameter speed: the seconds of sound that are sent in a second; nil: as many as are read.
    func serveStation(seconds: Int, speed: Int? = 400) -> Media {
      let change = Int64(300 * NumberedFrames.wavBytesPerSecond / 16_000)
      origin.serve(
        OriginResource(
          .bytes(NumberedFrames.wav(seconds: seconds)), contentType: "audio/wav",
          supportsRanges: false, declaresLength: false,
          headers: [Field("icy-name", "Radio Refrain"), Field("Cache-Control", "no-store")],
          bytesPerSecond: speed.map { $0 * NumberedFrames.wavBytesPerSecond },
          interleaving: Interleaving(interval: 16_000, titles: [1: "First", change: "Second"])),
        at: Self.stationPath)
      return Media(origin.url(Self.stationPath))
    }

    /// Has the station stop at some places, so that each step of a test waits for the one before:
    /// sound is written faster than it lasts. Returns what releases it at one of them.
    func holdStation(at seconds: Int...) -> () -> Void {
      let faults = seconds.map {
        Fault.stall(at: .body(Int64($0 * NumberedFrames.wavBytesPerSecond)))
      }
      origin.script(Self.stationPath, .on(.all, faults))
      return { [origin] in
        _ = Task {
          try await origin.wait(for: Self.stationPath) { $0.stalled == 1 }
          origin.release(Self.stationPath)
        }
      }
    }
  }
#endif
