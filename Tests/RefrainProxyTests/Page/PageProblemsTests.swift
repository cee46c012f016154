// SPDX-License-Identifier: MIT
import Testing

@testable import RefrainProxy

/// The failures and warnings that the page shows.
@Suite struct PageProblemsTests {
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
