// SPDX-License-Identifier: MIT
#if !canImport(AVFoundation)
  import AVFoundationStandIn
  import Testing

  /// A player's requests in an observed order (see Apple's developer forums and reports by authors
  /// of other caches).
  struct Trace: Sendable, CustomTestStringConvertible {
    enum Step: Sendable {
      /// Waits for the whole wish.
      case all(Wish)
      /// Continues once so many bytes have come, and cancels the request when the next step has
      /// begun.
      case part(Wish, Int64)
    }

    var name: String
    var length: Int64
    var steps: [Step]

    var testDescription: String { name }

    /// - Returns: how each step ended: nil if it was cancelled as in the trace.
    @discardableResult
    func run(_ player: CheckedPlayer) async throws -> [PlayerOutcome?] {
      var last: PlayerRequest?
      var outcomes: [PlayerOutcome?] = []
      for step in steps {
        switch step {
        case .all(let wish):
          let request = try player.request(wish)
          await last?.cancel()
          last = nil
          outcomes.append(await request.end())
        case .part(let wish, let count):
          let request = try player.request(wish)
          await last?.cancel()
          last = request
          outcomes.append(await request.received(count) ? nil : request.outcome)
        }
      }
      await last?.cancel()
      return outcomes
    }

    static let all = [mp4, jumping, mp3, wav, moovLast]

    static let mp4 = Trace(
      name: "MP4", length: 2_988_434,
      steps: [
        .all(.information()), .part(.toEnd(from: 0, length: 2_988_434), 2),
        .part(.toEnd(from: 2, length: 2_988_432), 720_896),
        .all(.toEnd(from: 65_538, length: 2_922_896)),
      ])

    /// The observed file had 158,008,374 bytes.
    static func jumping(of length: Int64, upTo end: Int64) -> Trace {
      Trace(
        name: "jumping in \(length)", length: length,
        steps: [
          .all(.information()), .part(.toEnd(from: 0), 13_201),
          .part(.toEnd(from: 65_536), 118_896),
          .all(.bytes(52_335, at: 13_201)), .part(.toEnd(from: 184_432), end - 184_432),
        ])
    }

    static let jumping = jumping(of: 158_008_374, upTo: 4_000_000)

    static let mp3 = Trace(
      name: "MP3", length: 38_075_437,
      steps: [
        .all(.information()), .part(.toEnd(from: 0, length: 38_075_437), 70_000),
        .part(.toEnd(from: 0, length: 38_075_437), 200_000),
        .part(.toEnd(from: 32_178_176, length: 5_897_261), 100_000),
        .part(.toEnd(from: 28_704_768), 1_000_000),
        .all(.toEnd(from: 38_074_245, length: 1192)),
      ])

    static let wav = Trace(
      name: "WAV", length: 523_239_424,
      steps: [.all(.information()), .part(.bytes(523_230_976, at: 8448), 3_000_000)])

    static let moovLast = Trace(
      name: "moov at the end", length: 10_000,
      steps: [
        .all(.information(bytes: 3)), .all(.bytes(100, at: 9900)), .all(.toEnd(from: 2)),
      ])
  }
#endif
