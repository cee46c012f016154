// SPDX-License-Identifier: MIT
#if !canImport(AVFoundation)
  import AVFoundationStandIn
  import TestSupport

  /// Requests of a player, in an order observed with AVPlayer.
  struct DesignTrace: Sendable, CustomStringConvertible {
    struct Step: Sendable {
      var wish: Wish
      /// The number of bytes to wait for; nil: all.
      var count: Int64?
      /// Whether an unfinished request stays open beside the next one instead of being cancelled.
      var staysOpen = false
      /// Whether this is a seek after which a listener waits for sound.
      var isSeek = false
    }

    var description: String
    var length: Int64
    /// The steps of each launch of the app.
    var launches: [[Step]]

    /// The number of bytes waited for, over all launches.
    var heard: Int64 {
      var heard = RangeSet<Int64>()
      for step in launches.joined() {
        let count = step.count ?? (step.wish.toEnd ? nil : Int64(step.wish.bytes ?? 0))
        let end = count.map { step.wish.offset + $0 } ?? length
        heard.insert(contentsOf: step.wish.offset..<end)
      }
      return heard.ranges.reduce(0) { $0 + Int64($1.count) }
    }

    var isHeardInFull: Bool { heard == length }

    static let all = [opening, gap, seek, jump, twoAtOnce, again]

    /// A whole file of 2,988,434 bytes, as AVPlayer requested it.
    static let opening: DesignTrace = {
      let length: Int64 = 2_988_434
      return DesignTrace(
        description: "3 MB in full", length: length,
        launches: [
          [
            probe, toEnd(0, of: length, count: 65_538),
            toEnd(2, of: length, count: 720_898 - 2), toEnd(65_538, of: length),
          ]
        ])
    }()

    /// Shortens a length outside of soak runs, to save time.
    private static func scaled(_ length: Int64) -> Int64 { TestSeed.isSoak ? length : length / 3 }

    /// A file whose beginning is requested twice with a gap left between, at a tenth of the
    /// observed length.
    static let gap: DesignTrace = {
      let length = scaled(15_800_837)
      return DesignTrace(
        description: "16 MB with a gap", length: length,
        launches: [
          [
            probe, toEnd(0, of: length, count: 13_201),
            toEnd(65_536, of: length, count: 184_432 - 65_536),
            Step(wish: .bytes(65_536 - 13_201, at: 13_201)), toEnd(184_432, of: length),
          ]
        ])
    }()

    private static let long = scaled(24 << 20)
    private static let ninety = long / 10 * 9

    /// Some of the beginning, then a seek to 90 %, and from there to the end.
    static let seek = DesignTrace(
      description: "24 MiB, a seek to 90 %, to the end", length: long,
      launches: [
        [
          probe, toEnd(0, of: long, count: 200_000),
          toEnd(ninety, of: long, isSeek: true),
        ]
      ])

    /// As before, but the listener leaves after a mebibyte.
    static let jump = DesignTrace(
      description: "24 MiB, a seek to 90 %, left after 1 MiB", length: long,
      launches: [
        [
          probe, toEnd(0, of: long, count: 200_000),
          toEnd(ninety, of: long, count: scaled(1 << 20), isSeek: true),
        ]
      ])

    /// The second request of two comes before the first has ended.
    static let twoAtOnce: DesignTrace = {
      let length = scaled(8 << 20)
      return DesignTrace(
        description: "8 MiB, two requests at once", length: length,
        launches: [
          [
            probe, toEnd(0, of: length, count: 65_536, staysOpen: true),
            toEnd(length / 2, of: length),
          ]
        ])
    }()

    /// The app was ended in the middle, and is started again.
    static let again: DesignTrace = {
      let length = scaled(8 << 20)
      return DesignTrace(
        description: "8 MiB, half; a new start, all; another, all", length: length,
        launches: [
          [probe, toEnd(0, of: length, count: length / 2)],
          [probe, toEnd(0, of: length)],
          [probe, toEnd(0, of: length)],
        ])
    }()

    private static let probe = Step(wish: .information())

    private static func toEnd(
      _ offset: Int64, of length: Int64, count: Int64? = nil, staysOpen: Bool = false,
      isSeek: Bool = false
    ) -> Step {
      Step(
        wish: .toEnd(from: offset, length: Int(length - offset)), count: count,
        staysOpen: staysOpen, isSeek: isSeek)
    }
  }
#endif
