// SPDX-License-Identifier: MIT
import Foundation
import Testing

@testable import Refrain

/// The parameters of a URL that are a signature, and those that are not.
@Suite struct SignaturesOfURLsTests {
  private func url(_ query: String) throws -> URL {
    try #require(URL(string: "https://h.example/a/b%20c.ts\(query)"))
  }

  private static let amazon =
    "X-Amz-Algorithm=A&X-Amz-Credential=C%2F1&X-Amz-Date=D&X-Amz-Expires=60"
    + "&X-Amz-SignedHeaders=host&X-Amz-Signature=S&X-Amz-Security-Token=T"

  @Test(arguments: [
    ("?\(amazon)", ""),
    ("?v=1&\(amazon)&w=2", "?v=1&w=2"),
    (
      "?X-Goog-Algorithm=A&X-Goog-Credential=C&X-Goog-Date=D&X-Goog-SignedHeaders=host"
        + "&X-Goog-Signature=S&b", "?b"
    ),
    ("?AWSAccessKeyId=K&Expires=1&Signature=S&versionId=9", "?versionId=9"),
    ("?GoogleAccessId=K&Expires=1&Signature=S", ""),
    ("?Expires=1&KeyName=k&Signature=S&a=1", "?a=1"),
    ("?a=1&Expires=1&Signature=S&Key-Pair-Id=K", "?a=1"),
    ("?Policy=P&Signature=S&Key-Pair-Id=K&a=1", "?a=1"),
    ("?hdnts=exp=1~acl=*~hmac=2&a=1", "?a=1"),
    ("?hdnea=1&hdntl=2&__token__=3&a", "?a"),
    ("?sv=2022&ss=b&se=2030&sp=r&sig=x%3D&rscd=file", "?rscd=file"),
    ("?sv=2022&si=policy&sr=b&sig=x", ""),
    ("?%4BeyName=k&Signature=S&Expires=1&a", "?a"),
    ("?hdnts=1&_HLS_msn=7", "?_HLS_msn=7"),
    ("?hdnts=1#t=10", ""),
  ])
  func `A signature is no part of the key`(_ query: String, _ rest: String) throws {
    let key = try CacheKey(withoutSignature: url(query))
    #expect(key.rawValue == "https://h.example/a/b%20c.ts\(rest)")
  }

  @Test(arguments: [
    "", "?", "?a=1", "?Expires=1", "?Expires=1&Signature=S", "?Signature=S&Key-Pair-Id=K",
    "?Policy=P&Key-Pair-Id=K", "?X-Amz-Date=D&X-Amz-Expires=60", "?X-Amz-Signature=S",
    "?X-Amz-Credential=C&X-Amz-Signature=S",
    "?sig=1", "?sv=1&se=2", "?se=1&sig=2", "?token=1", "?a=hdnts", "?a=hdnts=1", "?Hdnts=1",
    "?hdn=1", "?a=1&&b=2",
  ])
  func `A URL without a whole signature keeps its key`(_ query: String) throws {
    let url = try url(query)
    #expect(CacheKey(withoutSignature: url) == CacheKey(url: url))
  }
}
