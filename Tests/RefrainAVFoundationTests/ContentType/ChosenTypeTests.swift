// SPDX-License-Identifier: MIT
import Testing

@testable import RefrainAVFoundation

@Suite struct ChosenTypeTests {
  @Test func `A type is kept if any type or that type is allowed`() {
    #expect(ContentType.choose("public.mp3", from: nil) == "public.mp3")
    #expect(ContentType.choose("public.mp3", from: ["public.audio", "public.mp3"]) == "public.mp3")
    #expect(ContentType.choose("made.up", from: ["made.up"]) == "made.up")
  }

  @Test(arguments: [
    // The nearest supertype.
    ("com.apple.m4a-audio", ["public.mpeg-4-audio", "public.audio"], "public.mpeg-4-audio"),
    ("com.apple.m4v-video", ["public.movie", "public.mpeg-4"], "public.mpeg-4"),
    ("public.mp3", ["public.movie", "public.audio"], "public.audio"),
    ("public.mp3", ["public.data", "public.audiovisual-content"], "public.audiovisual-content"),
    ("public.mpeg-4", ["public.content", "public.data"], "public.data"),
    ("public.m3u-playlist", ["public.text"], "public.text"),
    // Otherwise, a type of the same format.
    ("public.mpeg-4", ["com.apple.m4a-audio"], "com.apple.m4a-audio"),
    ("public.mpeg-4", ["public.movie", "com.apple.m4v-video"], "com.apple.m4v-video"),
    ("public.mpeg-4", ["com.apple.m4a-audio", "com.apple.m4v-video"], "com.apple.m4v-video"),
    ("public.mpeg-4-audio", ["com.apple.m4v-video", "com.apple.m4a-audio"], "com.apple.m4a-audio"),
    ("com.apple.m4a-audio", ["com.apple.quicktime-movie"], "com.apple.quicktime-movie"),
    (
      "com.apple.m4a-audio", ["com.apple.protected-mpeg-4-audio-b"],
      "com.apple.protected-mpeg-4-audio-b"
    ),
    ("public.aifc-audio", ["public.aiff-audio"], "public.aiff-audio"),
    ("public.mp2", ["public.mp3"], "public.mp3"),
  ])
  func `The nearest allowed type is chosen`(
    _ type: String, _ allowed: [String], _ chosen: String
  ) {
    #expect(ContentType.choose(type, from: allowed) == chosen)
  }

  @Test func `No type is chosen if none fits`() {
    #expect(ContentType.choose("public.mp3", from: []) == nil)
    #expect(ContentType.choose("public.mp3", from: ["com.apple.m4a-audio"]) == nil)
    #expect(ContentType.choose("made.up", from: ["public.mp3"]) == nil)
    // The key of an encrypted stream is not media.
    let keys = ["com.apple.streamingkeydelivery.contentkey"]
    #expect(ContentType.choose("public.mpeg-4", from: keys) == nil)
  }

  @Test func `No type conforms to itself, and every chain ends`() {
    let types = Set(ContentType.mimeTypes.values).union(ContentType.extensions.values)
    for type in types {
      let above = ContentType.supertypes(of: type)
      #expect(!above.contains(type), "\(type)")
      #expect(above.contains("public.data"), "\(type)")
      #expect(Set(above).count == above.count, "\(type)")
    }
  }
}
