// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import OriginServer
  import RefrainPlayer

  /// Stations: live sound without a length, ranges or an index.
  extension Listening {
    static let stationPath = "/radio"

    func serveStation(
      _ sound: Data, type: String, _ change: (inout OriginResource) -> Void = { _ in }
    ) -> Media {
      var station = OriginResource(
        .bytes(sound), contentType: type, supportsRanges: false, declaresLength: false,
        headers: [Field("icy-name", "Radio Refrain"), Field("Cache-Control", "no-store")])
      change(&station)
      origin.serve(station, at: Self.stationPath)
      return Media(origin.url(Self.stationPath))
    }

    /// Serves a station whose samples say their places (`NumberedFrames.wav`), and whose title
    /// changes after 300 seconds.
    ///
    /// - Parameter speed: the seconds of sound that are sent in a second; nil: as many as are read.
    func serveStation(seconds: Int, speed: Int? = 400) -> Media {
      let change = Int64(300 * NumberedFrames.wavBytesPerSecond / 16_000)
      return serveStation(NumberedFrames.wav(seconds: seconds), type: "audio/wav") {
        $0.bytesPerSecond = speed.map { $0 * NumberedFrames.wavBytesPerSecond }
        $0.interleaving = Interleaving(
          interval: 16_000, titles: [1: "First", change: "Second"])
      }
    }

    /// Has that station stop at some places, so that each step of a test waits for the one before:
    /// sound is written faster than it lasts. Returns what releases it at one of them.
    func holdStation(at seconds: Int...) -> () -> Void {
      holdStation(atBytes: seconds.map { Int64($0 * NumberedFrames.wavBytesPerSecond) })
    }

    func holdStation(atBytes places: [Int64]) -> () -> Void {
      origin.script(Self.stationPath, .on(.all, places.map { .stall(at: .body($0)) }))
      return { [origin] in
        _ = Task {
          try await origin.wait(for: Self.stationPath) { $0.stalled == 1 }
          origin.release(Self.stationPath)
        }
      }
    }
  }
#endif
