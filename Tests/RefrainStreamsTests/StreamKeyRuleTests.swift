// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import RefrainStreams
import Testing

/// Keys of streams by a rule.
struct StreamKeyRuleTests {
  @Test(arguments: ["*", "_*", "_HLS_*", "_HLS_msn"])
  func `Parameters that select a part of a live stream stay in the key`(_ name: String) throws {
    let url = try #require(URL(string: "http://h/a?_HLS_msn=7&%5FHLS_part=1"))
    let key = CacheKeyRule.forStreams(ignoring: [name]).key(for: url)
    #expect(key.rawValue == "http://h/a?_HLS_msn=7&_HLS_part=1")
  }
}
