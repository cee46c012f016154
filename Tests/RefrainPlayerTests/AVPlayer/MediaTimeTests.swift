// SPDX-License-Identifier: MIT
#if !canImport(AVFoundation)
  import AVFoundationStandIn
  import Testing

  @testable import RefrainPlayer

  @Suite struct MediaTimeTests {
    @Test(arguments: [
      Duration.zero, .microseconds(1), .milliseconds(1500), .seconds(86_400), .seconds(-3),
    ])
    func `A duration survives conversion to media time and back`(_ duration: Duration) {
      #expect(Duration(duration.mediaTime) == duration)
    }

    @Test func `A media time that is not numeric has no duration`() {
      #expect(Duration(.indefinite) == nil)
      #expect(Duration(.invalid) == nil)
      #expect(Duration(.positiveInfinity) == nil)
      #expect(Duration(CMTime(value: 1, timescale: 0)) == nil)
    }

    @Test func `Extreme times are converted without a crash`() {
      for seconds in [Int64.max, .min, 1 << 50] {
        #expect(Duration.seconds(seconds).mediaTime.isNumeric)
      }
      #expect(Duration(CMTime(value: .max, timescale: 1)) == .seconds(Int64.max))
      #expect(Duration(CMTime(value: 1, timescale: 3)) != nil)
    }
  }
#endif
