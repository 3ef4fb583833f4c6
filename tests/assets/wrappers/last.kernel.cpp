
#include <torch/csrc/inductor/cpp_prefix.h>
extern "C"  void  cpp_fused_mul_select_0(const float* in_ptr0,
                       float* out_ptr0,
                       const int64_t ks0,
                       const int64_t ks1)
{
    std::atomic<int> inductor_cpu_integer_div_error{0};
    inductor_cpu_integer_div_error_flag = &inductor_cpu_integer_div_error;
    {
        #pragma GCC ivdep
        for(int64_t x0=static_cast<int64_t>(0L); x0<static_cast<int64_t>(ks0); x0+=static_cast<int64_t>(1L))
        {
            {
                {
                    auto tmp0 = in_ptr0[static_cast<int64_t>((-1L) + ks1 + ks1*x0)];
                    auto tmp1 = static_cast<float>(2.0);
                    auto tmp2 = float(tmp0 * tmp1);
                    out_ptr0[static_cast<int64_t>(x0)] = tmp2;
                }
            }
        }
    }
    inductor_cpu_integer_div_error_flag = nullptr;
    inductor_cpu_throw_if_integer_div_error(inductor_cpu_integer_div_error);
}
