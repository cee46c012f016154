// SPDX-License-Identifier: MIT
#if !canImport(AVFoundation)
  import TestSupport
  import Testing

  /// One trace after the other in a soak, whose times are compared.
  private let order: any SuiteTrait =
    TestSeed.isSoak ? ParallelizationTrait.serialized : ConditionTrait.enabled(if: true)

  /// The costs of Refrain beside four earlier designs under the same requests.
  ///
  /// docs/earlier-designs.md has the figures: the lines that this prints with REFRAIN_SOAK=1, with
  /// the runs one after the other. Times are only printed, and mean little outside of a soak.
  @Suite(order, .timeLimit(.minutes(TestSeed.minutes(4)))) struct EarlierDesignTests {
    @Test(arguments: DesignTrace.all)
    func `Refrain writes no byte twice, holds at most 1 MiB and fetches little extra`(
      _ trace: DesignTrace
    ) async throws {
      let results = try await Self.results(trace)
      for design in Design.allCases {
        guard let result = results[design] else { continue }
        #expect(result.wrongPieces == 0, "\(design)")
        print(Self.line(trace, design, result))
      }
      let refrain = try #require(results[.refrain])
      let others = results.filter { $0.key != .refrain }
      #expect(refrain.brokenOff == 0)
      // No byte is written twice, even if some came twice.
      #expect(refrain.counts.mediaWritten <= min(trace.length, refrain.originBytes))
      // A bounded number of pieces, whatever the length.
      #expect(refrain.counts.peakMemory <= 1 << 20)

      // Bytes in flight when a request is cancelled are lost to every design; their number depends
      // on the machine. They may include a piece that has just arrived.
      let piece: Int64 = 128 << 10
      let fetched = refrain.counts.received
      for (design, other) in others {
        if trace.isHeardInFull {
          #expect(refrain.counts.mediaWritten <= other.counts.mediaWritten, "\(design)")
          #expect(fetched <= other.originBytes + piece, "\(design)")
        }
        if design.downloadsFromTheStart {
          #expect(fetched <= other.originBytes + piece, "\(design)")
          #expect(refrain.counts.peakMemory <= other.counts.peakMemory, "\(design)")
        }
      }
      // Read-ahead for a listener who leaves: one window, as large as the bytes heard in sequence,
      // beyond half a window.
      #expect(fetched <= refrain.heardBytes * 5 / 2 + 512 << 10)
    }

    private static func results(_ trace: DesignTrace) async throws -> [Design: DesignRun.Result] {
      var results: [Design: DesignRun.Result] = [:]
      if TestSeed.isSoak {
        for design in Design.allCases { results[design] = try await DesignRun.run(design, trace) }
        return results
      }
      return try await withThrowingTaskGroup(of: (Design, DesignRun.Result).self) { group in
        for design in Design.allCases {
          group.addTask { (design, try await DesignRun.run(design, trace)) }
        }
        for try await (design, result) in group { results[design] = result }
        return results
      }
    }

    private static func line(_ trace: DesignTrace, _ design: Design, _ result: DesignRun.Result)
      -> String
    {
      func milliseconds(_ time: Duration?) -> String {
        time.map { "\(Int($0 / .milliseconds(1)))" } ?? ""
      }
      let counts = result.counts
      let columns: [String] = [
        "\(trace)", design.rawValue, "\(result.originBytes)", "\(result.originRequests)",
        "\(counts.peakMemory)", "\(counts.mediaWritten)", "\(counts.recordsWritten)",
        milliseconds(result.seekTime), milliseconds(result.time), "\(counts.scans)",
        "\(result.brokenOff)",
      ]
      return "| " + columns.joined(separator: " | ") + " |"
    }
  }
#endif
