// SPDX-License-Identifier: MIT
import Refrain
import Testing

@testable import RefrainProxy

/// The failures and warnings that the page shows.
@Suite(.timeLimit(.minutes(1))) struct PageProblemsTests {
  @Test func `A failure and a warning while nobody has the page open are shown later`()
    async throws
  {
    try await withPage { test, page async throws in
      test.origin.script("/gone", .on(.all, .status(404)))
      _ = try? await test.cache.prefetch(Resource(url: test.origin.url("/gone")))
      test.cache.report(warning: "The disk is slow.")
      try await eventually("both are known") { page.problems.after(0).count >= 2 }
      #expect(page.feed.visitors == 0)
      let problems = page.problems.after(0)
      #expect(problems.contains { $0.url == test.key("/gone").rawValue })
      #expect(problems.contains { $0.text == "The disk is slow." })
      let reply = try await test.page("/page/state")
      #expect(reply.text.contains("The disk is slow."))
    }
  }

  @Test func `Nothing is noted after the proxy has ended`() async throws {
    try await withPage { test, page async throws in
      await test.proxy.stop()
      test.cache.report(warning: "Late.")
      #expect(page.problems.after(0).isEmpty)
      // Its listener is gone.
      page.problems.start()
      test.cache.report(warning: "Later.")
      await page.problems.stop()
      #expect(page.problems.after(0).isEmpty)
    }
  }

  @Test func `A failure to look at the directory is shown once, until a look succeeds`() {
    var problems = PageProblems()
    problems.addLook("The disk is gone.", at: 1)
    problems.addLook("The disk is gone.", at: 2)
    #expect(problems.after(0).map(\.time) == [1])
    problems.addLook("It may not be read.", at: 3)
    problems.noteLooked()
    problems.addLook("It may not be read.", at: 4)
    #expect(problems.after(0).map(\.time) == [1, 3, 4])
    #expect(problems.after(2).map(\.text) == ["It may not be read."])
  }

  @Test func `The oldest ones are dropped`() {
    var problems = PageProblems()
    for number in 1...PageProblems.most + 5 { problems.add("\(number)", at: 0) }
    #expect(problems.after(0).count == PageProblems.most)
    #expect(problems.after(0).first?.text == "6")
    #expect(problems.after(UInt64(PageProblems.most) + 4).map(\.text) == ["35"])
  }
}
