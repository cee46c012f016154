// SPDX-License-Identifier: MIT
import Foundation

/// The processor time of a server's processes: proc(5), stat.
enum CPUTime {
  /// Returns the seconds in user and system mode of the process and all its running descendants.
  static func seconds(ofTree root: Int32) -> Double {
    let processes = all()
    var tree: Set<Int32> = [root]
    var hasGrown = true
    while hasGrown {
      let children = processes.filter { tree.contains($0.value.parent) }.map(\.key)
      hasGrown = !tree.isSuperset(of: children)
      tree.formUnion(children)
    }
    let ticks = tree.reduce(0) { $0 + (processes[$1]?.ticks ?? 0) }
    return Double(ticks) / Double(sysconf(Int32(_SC_CLK_TCK)))
  }

  private static func all() -> [Int32: (parent: Int32, ticks: Int)] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
    var processes: [Int32: (parent: Int32, ticks: Int)] = [:]
    for case let identifier? in names.map({ Int32($0) }) {
      // The process may have ended meanwhile.
      guard let text = try? String(contentsOfFile: "/proc/\(identifier)/stat", encoding: .utf8),
        let name = text.lastIndex(of: ")")
      else { continue }
      // The fields after the name begin with the third; 14 and 15 are the times.
      let fields = text[name...].dropFirst().split(separator: " ")
      guard fields.count > 12, let parent = Int32(fields[1]) else { continue }
      processes[identifier] = (parent, (Int(fields[11]) ?? 0) + (Int(fields[12]) ?? 0))
    }
    return processes
  }
}
