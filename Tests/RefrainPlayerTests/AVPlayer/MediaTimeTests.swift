// SPDX-License-Identifier: MIT
#if !canImport(AVFoundation)
  import AVFoundationStandIn
  import Testing

  @testable import RefrainPlayer

  @Suite struct MediaTimeTests {
    @Test(arguments: [
      Duration.zero, .microseconds(1), .milliseconds(1500), .seconds(86_400), .seconds(-3),
    ])
    func `A duration comes back as it went`(_ duration: Duration) {
      #expect(Duration(duration.mediaTime) == duration)
    }

    @Test func `What is no number is no duration`() {
      #expect(Duration(.indefinite) == nil)
      #expect(Duration(.invalid) == nil)
      #expect(Duration(.positiveInfinity) == nil)
      #expect(Duration(CMTime(value: 1, timescale: 0)) == nil)
    }

    @Test func `Times beyond any media do not stop the program`() {
      for seconds in [Int64.max, .min, 1 << 50] {
        #expect(Duration.seconds(seconds).mediaTime.isNumeric)
      }
      #expect(Duration(CMTime(value: .max, timescale: 1)) == .seconds(Int64.max))
      #expect(Duration(CMTime(value: 1, timescale: 3)) != nil)
    }
  }
#endif
