// SPDX-License-Identifier: MIT
import Foundation
import Testing

@testable import Refrain

/// The target in a request's first line for a URL.
struct RequestTargetTests {
  @Test(arguments: [
    ("/", "/"), ("", "/"), ("?", "/?"), ("?a=b", "/?a=b"), ("/a%20b", "/a%20b"),
    ("/%C3%A9?%E9", "/%C3%A9?%E9"), ("/%E9", "/%E9"), ("//b//", "//b//"),
    ("/%2F%41?x=/?", "/%2F%41?x=/?"), ("/a#b?c", "/a"), ("/a/?#", "/a/?"), ("/../b", "/../b"),
  ])
  func `A request target is spelled as in its URL`(_ path: String, _ target: String) throws {
    let url = try #require(URL(string: "http://u:p@a.example:8080" + path))
    #expect(RequestTarget.of(url) == target)
    #expect(RequestTarget.of(url, isAbsolute: true) == "http://a.example:8080" + target)
  }
}
